#!/usr/bin/env bash
# own_program.sh LATHE OWN: a user's program that links lathe::cli does all that lathe does, with workloads of its own.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"

gives 0 "$own" workloads; says '^own_double'
gives 1 "$lathe" run own_double
gives 0 "$own" tune own_double --trials 3 --db a.db --json
python3 - <<'P' || fail "the result is not what was asked"
import json
r = json.loads("".join(open("out")))[0]
assert r["failed"] == 0 and r["best_ms"] > 0 and r["workload"].startswith("own_double"), r
P
gives 0 "$own" run own_double --db a.db --on-miss error; says 'verified'

# A workload that fails without any schedule: an error that says how, and no trial.
gives 1 "$own" tune own_crash --trials 3 --db a.db; says 'SIGSEGV'; says 'LTH-U031\|without a schedule'

# Every candidate fails: said early, with the commonest error, nothing is best, and the default schedule stays in use.
gives 1 "$own" tune own_later --trials 40 --db later.db; says 'every candidate failed'; says 'unstable'; says 'stays in use'
gives 4 "$own" db best own_later --db later.db
gives 0 "$own" db stats --db later.db --json; says '"winners": 0'
gives 0 "$own" show own_later --db later.db
gives 4 "$own" build own_later --db later.db -o artefact
[ ! -e artefact ] || fail "something was built of nothing"

id=$("$own" db best own_double --db a.db -k 1 | awk '{print $3}')
gives 0 "$own" trial show "$id" --db a.db; says 'own_double'
gives 0 "$own" trial show "${id:0:8}" --db a.db --json; python3 -m json.tool out >/dev/null || fail "trial show --json is no JSON"
gives 0 "$own" trial rerun "$id" --db a.db; says 'now '; says 'verified'
gives 0 "$own" trial rerun "$id" --db a.db --sanitize; says 'as lowered: no violation'
gives 0 "$own" show "$id" --db a.db --as cpp; says "vectorize\|split"
gives 1 "$own" trial show 0123456789 --db a.db
gives 0 "$own" report --db a.db -o report.html
grep -q '<svg' report.html || fail "the report has no curve"
if grep -q 'http' report.html; then fail "the report loads something"; fi
# Names and texts from outside are text in a report, however long it gets.
python3 "$here/names.py" report.db a.db
gives 0 "$own" report --db report.db -o odd.html
for bad in '<script' '" onload' "' onload"; do
  if grep -q -e "$bad" odd.html; then fail "the report has $bad from a name"; fi
done
python3 -c 'open("odd.html", encoding="utf-8", errors="strict").read()' || fail "the report is no UTF-8"
[ "$(stat -c %s odd.html)" -lt 2000000 ] || fail "a report of 12,000 trials has $(stat -c %s odd.html) bytes"
grep -q 'a dot for one of' odd.html || fail "the report does not say that it shows a part of the trials"
finish
