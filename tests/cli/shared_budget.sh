#!/usr/bin/env bash
# shared_budget.sh LATHE OWN: several workloads share one budget, in what is shown, when they go on, and when one of them fails.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
a='softmax(m=9,n=64)' b='matmul(m=24,n=24,k=24)'
trials() { "$lathe" db stats --db "$1" --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["trials"])'; }

# The budget is counted once, and each line says whose best it shows.
gives 0 "$lathe" tune "$a" "$b" --trials 10 --db a.db --log a.log
says '^\[10/10\]'; says '^\[ [0-9]*/10\] best .* left  softmax(m=9,n=64):f32$'; says ' left  matmul'
is "$(grep -o '"trial":[0-9]*' a.log | cut -d: -f2 | tr '\n' ' ')" '1 2 3 4 5 6 7 8 9 10 ' "numbers of the trials"
gives 0 "$lathe" session ls --db a.db; says 'softmax(m=9,n=64):f32: all trials'

# What is left of time is no more than the time that was given.
gives 0 "$lathe" tune "$a" --trials 500 --time 1 --db time.db; says 'the time is spent'
if grep -q '[1-9]:[0-9][0-9] left' out; then fail "a session of a second says that minutes are left"; fi

# Going on with one of them goes on with all, up to the budget that they share.
"$lathe" tune "$a" "$b" --trials 16 --round 2 --db cut.db --log cut.log >out 2>&1 & session=$!
while kill -0 $session 2>/dev/null && [ "$(cat cut.log 2>/dev/null | grep -c '"event":"trial"')" -lt 5 ]; do sleep 0.05; done
kill -INT $session
code=0; wait $session || code=$?
is "$code" 3 "exit code"
id=$("$lathe" session ls --db cut.db | head -1 | cut -d' ' -f1)
gives 0 "$lathe" session resume "$id" --db cut.db
is "$(trials cut.db)" 16 "trials of a shared budget of 16, interrupted and gone on with"
is "$("$lathe" session ls --db cut.db | wc -l)" 2 "sessions"
gives 0 "$lathe" session resume "$id" --db cut.db; says 'all trials'

# One that cannot be tuned ends only its own share, is named, and the exit code says so. Nothing is noted of what has run-time sizes.
gives 1 "$own" tune "$a" own_crash --trials 4 --db crash.db --json; says 'SIGSEGV'
is "$(trials crash.db)" 4 "trials of the other one"
gives 1 "$own" tune own_any_size --trials 4 --db none.db; says 'LTH-U020'
gives 0 "$own" session ls --db none.db; is "$(cat out)" "" "sessions of a workload that is refused"
gives 1 "$own" tune own_any_size --dry-run; says 'LTH-U020'

# A log that cannot be written is said, once, and costs no trial.
gives 0 "$lathe" tune "$a" --trials 3 --db full.db --log /dev/full; says '/dev/full'
is "$(trials full.db)" 3 "trials beside a log that is full"
finish
