#!/usr/bin/env bash
# many_writers.sh LATHE OWN [ROUNDS]: two processes tune into one database while a third exports it and a fourth is killed at
# random. Afterwards the file is good, nothing acknowledged is lost, nothing doubled, and every best is of its own key.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
rounds=${3:-1}
count() { python3 -c 'import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }
for round in $(seq "$rounds"); do
  db=round$round.db
  "$lathe" tune "matmul(m=8,n=16,k=$round)" --trials 6 --round 2 --seed 1 --db $db --log one.log >one.txt 2>&1 & one=$!
  "$lathe" tune "matmul(m=8,n=16,k=$round)" --trials 6 --round 2 --seed 2 --db $db --log two.log >two.txt 2>&1 & two=$!
  "$lathe" tune "matmul(m=16,n=8,k=$round)" --trials 500 --round 2 --strategy random --db $db >/dev/null 2>&1 & victim=$!
  (while kill -0 $one 2>/dev/null || kill -0 $two 2>/dev/null; do
     [ ! -e $db ] || "$lathe" db export --db $db -o export.jsonl >/dev/null 2>export.txt || true; sleep 0.2
   done) & exporter=$!
  sleep "$(python3 -c 'import random; print(random.uniform(0.5, 5))')"
  kill -9 $victim 2>/dev/null || true
  wait $one || { cat one.txt; fail "round $round: the first tuner failed"; }
  wait $two || { cat two.txt; fail "round $round: the second tuner failed"; }
  wait $victim 2>/dev/null || true
  wait $exporter
  is "$(count $db 'pragma integrity_check')" ok "round $round: integrity"
  gives 0 "$lathe" db check --db $db; says good
  told=$(cat one.log two.log | grep -c '"event":"trial"')
  kept=$(count $db "select count(*) from trials t join workload_names n on n.workload = t.workload where n.spec like '%m=8,n=16,%'")
  is "$kept" "$told" "round $round: trials of the two that lived"
  is "$(count $db 'select count(*) - count(distinct uid) from trials')" 0 "round $round: doubled trials"
  is "$(count $db 'select count(*) from winners w join trials t on t.id = w.trial where t.workload <> w.workload or t.target <> w.target or t.failure <> 0')" 0 "round $round: foreign bests"
  gives 0 "$lathe" db export --db $db -o export.jsonl
  gives 0 "$lathe" db import export.jsonl --db copy$round.db
  rm -f one.log two.log
done
finish
