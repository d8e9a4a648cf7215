#!/usr/bin/env bash
# interrupted.sh LATHE OWN: SIGINT and SIGTERM lose nothing, `kill -9` at most a batch, and a resumed session measures
# nothing again.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
w='matmul(m=40,n=48,k=56)'

trials() { "$lathe" db stats --db "$1" --json 2>/dev/null | python3 -c 'import json,sys; print(json.load(sys.stdin)["trials"])'; }
# begin DB LOG: a session in the background; waits until it has committed something and is at more.
begin() {
  "$lathe" tune "$w" --trials 64 --round 2 --seed 5 --db "$1" --log "$2" >out 2>&1 &
  session=$!
  for _ in $(seq 2400); do
    [ -f "$2" ] && [ "$(grep -c '"event":"trial"' "$2")" -ge 3 ] && return
    kill -0 $session 2>/dev/null || fail "the session ended early"
    sleep 0.1
  done
  fail "the session does not get on"
}

for signal in INT TERM; do
  begin $signal.db $signal.log
  kill -$signal $session
  code=0; wait $session || code=$?
  is "$code" 3 "exit code after SIG$signal"
  says 'interrupted'
  told=$(grep -c '"event":"trial"' $signal.log)
  is "$(trials $signal.db)" "$told" "trials kept after SIG$signal"
  gives 0 "$lathe" session ls --db $signal.db; says 'interrupted'
  gives 0 "$lathe" db check --db $signal.db; says good
done

id=$("$lathe" session ls --db INT.db | cut -d' ' -f1)
gives 0 "$lathe" session show "$id" --db INT.db; says "m=40"
before=$(trials INT.db)
gives 0 "$lathe" session resume "$id" --trials 3 --db INT.db
is "$(trials INT.db)" $((before + 3)) "trials after going on"
gives 0 "$lathe" session ls --db INT.db; says '  finished '
is "$(wc -l <out)" 1 "sessions after going on with one"
gives 0 "$lathe" db export --db INT.db -o log.jsonl
is "$(grep -o '"scheduled":"[0-9a-f]*"' log.jsonl | sort | uniq -d | wc -l)" 0 "schedules measured twice"

begin kill.db kill.log
kill -9 $session
wait $session 2>/dev/null || true
lost=$(($(grep -c '"event":"trial"' kill.log) - $(trials kill.db)))
[ "$lost" -le 2 ] || fail "kill -9 lost $lost trials of a batch of 2"
gives 0 "$lathe" session ls --db kill.db; says 'interrupted'
gives 0 "$lathe" db check --db kill.db; says good
gives 0 "$lathe" tune "$w" --trials 2 --resume --db kill.db

# A program that is replaced while it tunes goes on as what it was.
cp "$lathe" mine
./mine tune "$w" --trials 12 --round 2 --seed 9 --db replaced.db --log replaced.log >out 2>&1 & session=$!
while kill -0 $session 2>/dev/null && [ "$(cat replaced.log 2>/dev/null | grep -c '"event":"trial"')" -lt 3 ]; do sleep 0.05; done
kill -9 $(pgrep -P $session) 2>/dev/null || true
rm mine; printf '#!/bin/sh\nexit 7\n' >mine; chmod +x mine
code=0; wait $session || code=$?
is "$code" 0 "exit code of a session whose program was replaced and whose workers were killed"
is "$(trials replaced.db)" 12 "trials of a session whose program was replaced"

# A verb that is no session ends with the first signal.
"$lathe" run 'matmul(m=2048,n=2048,k=2048)' --db INT.db >out 2>&1 & session=$!
sleep 0.3
kill -TERM $session
code=0; wait $session || code=$?
is "$code" 143 "exit code of \`lathe run\` after SIGTERM"

# Times of cold caches are no news to a session with warm ones: it knows nothing, and measures the default again.
gives 0 "$lathe" tune "$w" --trials 3 --cold --db cold.db
gives 0 "$lathe" tune "$w" --trials 3 --resume --db cold.db --json; says '"resumed": 0'
gives 0 "$lathe" tune "$w" --trials 3 --resume --cold --db cold.db --json; says '"resumed": 3'

# Budget 20, interrupted, gone on with: 20 trials, each schedule once.
"$lathe" tune 'softmax(m=9,n=64)' --trials 20 --round 2 --db budget.db --log budget.log >out 2>&1 & session=$!
while kill -0 $session 2>/dev/null && [ "$(cat budget.log 2>/dev/null | grep -c '"event":"trial"')" -lt 5 ]; do sleep 0.05; done
kill -INT $session
code=0; wait $session || code=$?
is "$code" 3 "exit code"
id=$("$lathe" session ls --db budget.db | cut -d' ' -f1)
"$lathe" session resume "$id" --db budget.db --log more.log >out 2>&1 & session=$!
while kill -0 $session 2>/dev/null && [ "$(cat more.log 2>/dev/null | grep -c '"event":"trial"')" -lt 3 ]; do sleep 0.05; done
kill -9 $session
wait $session 2>/dev/null || true
gives 0 "$lathe" session resume "$id" --db budget.db
is "$(trials budget.db)" 20 "trials of a budget of 20, interrupted and killed"
gives 0 "$lathe" db export --db budget.db -o budget.jsonl
is "$(grep -o '"scheduled":"[0-9a-f]*"' budget.jsonl | sort | uniq -d | wc -l)" 0 "schedules measured twice"
gives 0 "$lathe" session resume "$id" --db budget.db; says 'all trials'
finish
