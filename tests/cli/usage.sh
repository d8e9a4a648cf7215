#!/usr/bin/env bash
# usage.sh LATHE OWN: the command line teaches, and says what is wrong with it.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"

gives 0 "$lathe" --help; says 'lathe tune'; says 'Exit codes'
gives 0 "$lathe" --version; says '^[0-9]*\.[0-9]*\.[0-9]*$'
for verb in tune run show trial session report db propose measure ingest targets workloads explain; do
  gives 0 "$lathe" $verb --help
done

gives 2 "$lathe"; says 'verb'
gives 2 "$lathe" tun 'matmul(m=8)'; says 'did you mean "tune"'
gives 2 "$lathe" db exprot; says 'did you mean "export"'
gives 2 "$lathe" tune 'matmul(m=8)' --trails 3; says 'did you mean "--trials"'
gives 2 "$lathe" tune 'matmul(m=8)' --trials none
gives 2 "$lathe" tune 'matmul(m=8)' --trials 0
gives 2 "$lathe" tune
gives 2 "$lathe" run 'matmul(m=8)' --on-miss perhaps; says 'error'

gives 1 "$lathe" run 'matmull(m=8)'; says 'matmul'
gives 1 "$lathe" run 'matmul(q=1)'; says 'has no parameter "q"'
gives 1 "$lathe" run 'matmul(m=8'; says 'LTH-W\|matmul'
gives 1 "$lathe" run 'matmul(m=8)' --target zen33; says 'zen3'
gives 1 "$lathe" explain X999; says 'no error has the code'
gives 1 "$lathe" --load ./no_such.so workloads; says 'no_such.so'
gives 0 "$lathe" explain lth-s012; says 'way out'
gives 0 "$lathe" workloads --json; python3 -m json.tool out >/dev/null || fail "workloads --json is no JSON"
gives 0 "$lathe" targets --json; python3 -m json.tool out >/dev/null || fail "targets --json is no JSON"
finish
