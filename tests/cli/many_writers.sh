#!/usr/bin/env bash
# many_writers.sh LATHE OWN [ROUNDS [TRIALS]]: two processes tune into one database while a third exports it in a loop and a fourth is
# killed at random moments and resumed. Afterwards the file is good, no trial that was reported is lost (but for a batch of
# each kill), none is doubled, every best is of its own key, and the text of the store makes the store again.
# The suite plays two rounds; docs/measurements.md has a run of twenty.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
rounds=${3:-2} trials=${4:-5}
batch=2
count() { python3 -c 'import sqlite3,sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$@"; }
told() { cat "$1" 2>/dev/null | grep -c '"event":"trial"' || true; }
# tune SEED LOG WORKLOAD ARGUMENT...: the seed tells in the database whose a trial is.
tune() {
  local seed=$1 log=$2 workload=$3
  shift 3
  exec "$lathe" tune "$workload" --round $batch --seed "$seed" --db $db --log "$log" "$@"
}

# The victim: killed after a random time, resumed, as long as somebody else is at work.
die_and_resume() {
  local kills=0
  while kill -0 $one 2>/dev/null || kill -0 $two 2>/dev/null; do
    tune 3 three.log "$victims" --trials 500 --strategy random --resume >three.txt 2>&1 & local victim=$!
    sleep "$(python3 -c 'import random; print(random.uniform(0.05, 1.2))')"
    kill -9 $victim 2>/dev/null || echo "the victim ended by itself: $(cat three.txt)" >victim.failed
    wait $victim 2>/dev/null || true
    echo $((++kills)) >kills
  done
}
# What is exported at any moment is a whole log.
export_in_a_loop() {
  while kill -0 $one 2>/dev/null || kill -0 $two 2>/dev/null; do
    [ -e $db ] || continue
    if ! "$lathe" db export --db $db -o snapshot.jsonl 2>export.txt; then
      # What the first moments of a new file give.
      grep -q 'LTH-R002\|LTH-R017' export.txt || cp export.txt export.failed
      continue
    fi
    rm -f snapshot.db*
    "$lathe" db import snapshot.jsonl --db snapshot.db 2>import.txt || cp import.txt export.failed
    echo x >>snapshots
  done
}

all_kills=0 all_trials=0 all_exports=0
for round in $(seq "$rounds"); do
  db=round.db
  rm -f $db* ./*.log ./*.failed kills snapshots copy.db*
  ours="softmax(m=$((8 + round)),n=64)"
  victims=$ours  # the same key, or another one
  [ $((round % 2)) = 0 ] || victims="softmax(m=$((8 + round)),n=128)"
  (tune 1 one.log "$ours" --trials $trials) >one.txt 2>&1 & one=$!
  (tune 2 two.log "$ours" --trials $trials --strategy random) >two.txt 2>&1 & two=$!
  die_and_resume & victim_loop=$!
  export_in_a_loop & exporter=$!
  wait $one || { cat one.txt; fail "round $round: the first tuner failed"; }
  wait $two || { cat two.txt; fail "round $round: the second tuner failed"; }
  wait $victim_loop $exporter
  [ ! -e victim.failed ] || fail "round $round: $(cat victim.failed)"
  [ ! -e export.failed ] || fail "round $round: $(cat export.failed)"

  is "$(count $db 'pragma integrity_check')" ok "round $round: integrity"
  gives 0 "$lathe" db check --db $db; says good
  for who in 1:one 2:two; do
    is "$(count $db "select count(*) from trials where seed = ${who%:*}")" "$(told ${who#*:}.log)" \
      "round $round: trials of tuner ${who%:*}"
  done
  kills=$(cat kills)
  kept=$(count $db 'select count(*) from trials where seed = 3')
  lost=$(($(told three.log) - kept))
  [ $lost -ge 0 ] && [ $lost -le $((batch * kills)) ] || fail "round $round: $kills kills lost $lost trials"
  is "$(count $db 'select count(*) - count(distinct uid) from trials')" 0 "round $round: doubled trials"
  # One that resumes measures nothing that it, or another one, has measured already.
  is "$(count $db 'select count(*) - count(distinct candidate) from trials where seed = 3')" 0 \
    "round $round: candidates measured twice"
  is "$(count $db 'select count(*) from winners w join trials t on t.id = w.trial
       where t.workload <> w.workload or t.target <> w.target or t.failure <> 0')" 0 "round $round: foreign bests"
  gives 0 "$lathe" db export --db $db -o export.jsonl
  gives 0 "$lathe" db import export.jsonl --db copy.db
  gives 0 "$lathe" db export --db copy.db -o again.jsonl
  cmp export.jsonl again.jsonl || fail "round $round: the copy exports other bytes"
  all_kills=$((all_kills + kills)) all_trials=$((all_trials + $(count $db 'select count(*) from trials')))
  [ ! -e snapshots ] || all_exports=$((all_exports + $(wc -l <snapshots)))
done
echo "$rounds rounds: $all_trials trials, $all_kills kills, $all_exports exports in between"
finish
