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
# Numbers that make no sense are refused with what would.
for option in '--trials -3' '--time -1' '--plateau -1' '--round -5' '--timeout 0' '--timeout nan' '--builders -2' '--builders 9999'; do
  # shellcheck disable=SC2086
  gives 2 "$lathe" tune 'matmul(m=8)' --db none.db $option; says "${option%% *}: "
done
gives 2 "$lathe" db best 'matmul(m=8)' -k 0; says '"0" is not a number from 1 on'
gives 2 "$lathe" propose 'matmul(m=8)' -n 0
gives 2 "$lathe" db prune --keep-top -1
gives 2 "$lathe" trial rerun 1 --gdb --sanitize
[ ! -e none.db ] || fail "a refused command line made a database"
gives 2 "$lathe" run 'matmul(m=8)' --on-miss perhaps; says 'error'

gives 1 "$lathe" run 'matmull(m=8)'; says 'matmul'
gives 1 "$lathe" run 'matmul(q=1)'; says 'has no parameter "q"'
gives 1 "$lathe" run 'matmul(m=8,n=8,m=9)'; says '"m" is given twice'
gives 1 "$lathe" run 'matmul(m=-4)'; says 'must lie in'
gives 1 "$lathe" run 'matmul(m=8'; says 'LTH-W\|matmul'
gives 1 "$lathe" run 'matmul(m=8)' --target zen33; says 'zen3'
gives 1 "$lathe" tune 'matmul(m=8)' --target a100 --db none.db; says 'only those for CPUs'
gives 1 "$lathe" tune 'matmul(m=8)' --target skylake-avx512-no --db none.db; says 'unknown target'
gives 1 "$lathe" tune 'matmul(m=8)' --target @no_such.json --db none.db; says 'no_such.json'
gives 1 "$lathe" tune 'matmul(m=8)' --log no/such/folder/x --db none.db; says 'no/such/folder'
gives 1 "$lathe" tune 'matmul(m=8)' --pin Q=3 --db none.db; says 'LTH-U022'
gives 1 "$lathe" tune 'matmul(m=8)' --model no.model --db none.db; says 'LTH-U001'
gives 1 "$lathe" measure no.jsonl; says 'cannot read "no.jsonl"'
mkdir folder
gives 1 "$lathe" tune 'matmul(m=8)' --keep-failures /proc/none --db none.db; says 'LTH-U008'
gives 1 "$lathe" measure folder; says 'cannot read "folder"'
gives 1 "$lathe" verify folder
for verb in 'db compact' 'db prune --keep-top 1' 'db ls' 'db check' 'session ls' 'session resume 1' 'trial show 1' report; do
  # shellcheck disable=SC2086
  gives 1 "$lathe" $verb --db no_such.db; says 'no_such.db'
  [ ! -e no_such.db ] || fail "\`$verb\` made a database"
done
# An answer that cannot be written is no answer.
gives 1 bash -c "'$lathe' workloads --json >/dev/full"; says 'standard output cannot be written'
gives 1 "$lathe" targets show host -o /dev/full; says '/dev/full'
[ -c /dev/full ] || fail "a device was replaced by a file"
gives 1 "$lathe" explain X999; says 'no error has the code'
gives 1 "$lathe" --load ./no_such.so workloads; says 'no_such.so'
gives 0 "$lathe" explain lth-s012; says 'way out'
gives 0 "$lathe" workloads --json; python3 -m json.tool out >/dev/null || fail "workloads --json is no JSON"
gives 0 "$lathe" targets --json; python3 -m json.tool out >/dev/null || fail "targets --json is no JSON"
finish
