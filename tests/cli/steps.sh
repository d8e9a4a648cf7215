#!/usr/bin/env bash
# steps.sh LATHE OWN: propose, measure and ingest over files come to the same as a session.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
w='matmul(m=24,n=40,k=16)'
gives 0 "$lathe" propose "$w" --db a.db -n 4 -o b.jsonl
is "$(grep -c '"kind":"candidate"' b.jsonl)" 4 "candidates"
gives 0 "$lathe" propose "$w" --db a.db -n 4 -o again.jsonl
cmp b.jsonl again.jsonl || fail "the same question got another answer"
[ ! -e a.db ] || fail "proposing wrote a database"
gives 0 "$lathe" measure b.jsonl -o r.jsonl
gives 0 "$lathe" ingest r.jsonl --db a.db
gives 0 "$lathe" ingest r.jsonl --db a.db; says '0 trials new'
gives 0 "$lathe" db stats --db a.db; says 'trials *4'
gives 0 "$lathe" run "$w" --db a.db --on-miss error; says 'verified'
# What is known is not proposed again.
gives 0 "$lathe" propose "$w" --db a.db -n 4 -o next.jsonl
is "$(cat b.jsonl next.jsonl | grep -o '"scheduled":"[0-9a-f]*"' | sort | uniq -d | wc -l)" 0 "candidates proposed twice"
# The batch says in which regime it is to be measured, and what was measured so is known to the next one.
gives 0 "$lathe" propose "$w" --db cold.db -n 3 --cold -o c.jsonl
gives 0 "$lathe" measure c.jsonl -o cr.jsonl
is "$(grep -c '"regime":"cold"' cr.jsonl)" 3 "trials with cold caches"
gives 0 "$lathe" ingest cr.jsonl --db cold.db
gives 0 "$lathe" propose "$w" --db cold.db -n 3 --cold -o cn.jsonl
is "$(cat c.jsonl cn.jsonl | grep -o '"scheduled":"[0-9a-f]*"' | sort | uniq -d | wc -l)" 0 "cold candidates proposed twice"
gives 0 "$lathe" propose "$w" --db cold.db -n 2 --pin C.rows=2 --serial
gives 1 "$lathe" propose "$w" --db cold.db -n 2 --pin nothing=2; says 'LTH-U022'

# What is there twice is measured once.
cat b.jsonl b.jsonl >twice.jsonl
gives 0 "$lathe" measure twice.jsonl b.jsonl -o once.jsonl; says '^4 trials'

# A batch for this machine is measured on its kind alone: the times would be served there.
gives 0 "$lathe" targets show host -o here.json
sed -E 's/("vector_registers": )[0-9]+/\18/' here.json >elsewhere.json
cmp -s here.json elsewhere.json && fail "the target file has no number of registers"
gives 0 "$lathe" propose "$w" --target @elsewhere.json -n 2 -o foreign.jsonl
gives 1 "$lathe" measure foreign.jsonl -o x.jsonl; says 'LTH-U010'; says 'vector_registers'
[ ! -e x.jsonl ] || fail "a refused batch left results"
: >empty.jsonl
gives 1 "$lathe" measure empty.jsonl -o x.jsonl; says 'LTH-U007'

# Results of an older version are hearsay from the beginning, and those of another host are its own.
change() { sed -E "s/,\"id\":\"[0-9a-f]*\"//; $1" r.jsonl; }
change 's/"by":\{"lathe":"[^"]*"/"by":{"lathe":"0.0.1"/' >older.jsonl
gives 0 "$lathe" ingest older.jsonl --db older.db
gives 0 "$lathe" db best "$w" --db older.db; says '  stale$'
gives 0 "$lathe" db stats --db older.db; says 'stale *4'
change 's/"host":"[^"]*"/"host":"elsewhere"/; s/"class":"[^"]*"/"class":"elsewhere"/' >elsewhere.jsonl
gives 0 "$lathe" ingest elsewhere.jsonl --db a.db
gives 0 "$lathe" db export --winners --db a.db -o winners.jsonl
is "$(grep -c '"kind":"trial"' winners.jsonl)" 2 "winners of two hosts"

# A candidate whose trace is not that of its program is a failure, and says so.
python3 - <<'P'
import json
lines = [json.loads(l) for l in open("b.jsonl")]
def write(name, line, **what):
    changed = [dict(l) for l in lines]
    changed[line].update(what)
    open(name, "w").writelines(json.dumps(l) + "\n" for l in changed)
write("b1.jsonl", 0, seed=-5)
write("b2.jsonl", 0, semantics=77)
write("b3.jsonl", 0, target='{"a":1}')
write("b4.jsonl", 0, program="{}")
write("b5.jsonl", 0, regime="tepid")
write("b6.jsonl", 1, proposal=-1)
write("b7.jsonl", 1, kind="fruit")
write("b8.jsonl", 1, trace={"x": 1})
write("b9.jsonl", 1, scheduled="zz")
lines[1]["scheduled"], lines[2]["scheduled"] = lines[2]["scheduled"], lines[1]["scheduled"]
write("swapped.jsonl", 0)
P
gives 0 "$lathe" measure swapped.jsonl -o s.jsonl; says '4 trials, 2 failed'
is "$(grep -c '"failure":"replay"' s.jsonl)" 2 "candidates of another program"
# A batch that does not fit is refused at its line.
for i in 1 2 3 4 5 6 7 8 9; do
  gives 1 "$lathe" measure b$i.jsonl -o nothing.jsonl
  says "b$i.jsonl:$([ $i -lt 6 ] && echo 1 || echo 2): "; says 'LTH-U007'
done
head -c 3000 b.jsonl >cut.jsonl
gives 1 "$lathe" measure cut.jsonl -o nothing.jsonl; says 'cut.jsonl:[0-9]*: not JSON; the file seems to be cut here'
[ ! -e nothing.jsonl ] || fail "a refused batch gave results"
for bad in b.jsonl cut.jsonl; do gives 1 "$lathe" ingest $bad --db a.db; says "$bad:1:"; done
gives 1 "$lathe" ingest none.jsonl --db a.db; says 'lathe measure BATCH'
{ head -1 b.jsonl; echo '{"lathe_batch":9}'; } >newer.jsonl
gives 1 "$lathe" measure newer.jsonl; says 'newer.jsonl:2'
tail -1 b.jsonl >orphan.jsonl
gives 1 "$lathe" measure orphan.jsonl; says 'orphan.jsonl:1'
finish
