#!/usr/bin/env bash
# tune_and_replay.sh LATHE: tunes a small workload, then other processes find, replay, verify, print, export and import it.
set -euo pipefail
lathe=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
w='matmul(m=48,n=64,k=40)'
# Into a file first: grep -q ends a pipe early, and that would count as a failure of the program.
says() { local pattern=$1; shift; "$@" >"$dir/out.txt"; grep -q -- "$pattern" "$dir/out.txt"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

"$lathe" tune "$w" --trials 5 --seed 3 --db "$dir/a.db" >"$dir/tune.txt" 2>"$dir/progress.txt"
grep -q '5 trials' "$dir/tune.txt" || fail "the session did not report its trials"
says 'verified against' "$lathe" run "$w" --db "$dir/a.db" --on-miss error || fail "the winner was not replayed and verified"
says '"vectorize"' "$lathe" show "$w" --db "$dir/a.db" --as trace || fail "the winner's trace has no steps"
says '^+ ' "$lathe" show "$w" --steps --diff --db "$dir/a.db" || fail "no step changed a line"
says good "$lathe" db check --db "$dir/a.db" || fail "the store is not good"
"$lathe" db export --db "$dir/a.db" -o "$dir/log.jsonl" 2>/dev/null
"$lathe" db import "$dir/log.jsonl" --db "$dir/b.db"
"$lathe" db export --db "$dir/b.db" -o "$dir/again.jsonl" 2>/dev/null
cmp "$dir/log.jsonl" "$dir/again.jsonl" || fail "export, import, export changed the log"

status=0
"$lathe" run 'matmul(m=8,n=8,k=8)' --db "$dir/a.db" --on-miss error >/dev/null 2>&1 || status=$?
[ "$status" = 4 ] || fail "a miss gave exit code $status, not 4"
status=0
"$lathe" tune 'matmul(q=1)' --db "$dir/a.db" 2>"$dir/error.txt" || status=$?
[ "$status" = 1 ] && grep -q 'has no parameter "q"' "$dir/error.txt" || fail "a wrong key was not named"
says 'way out' "$lathe" explain S012 || fail "explain gives no way out"
says conv2d_bias_relu "$lathe" workloads || fail "the library is not listed"
says '"host"' "$lathe" targets --json || fail "the host is not described"
echo "1 passed, 0 failed"
