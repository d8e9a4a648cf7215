#!/usr/bin/env bash
# build.sh LATHE OWN: builds artefacts from records and without, checks logs, verifies what was built.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh" "$@"
a='matmul(m=12,n=20,k=8)' b='matmul(m=7,n=9,k=5)'

gives 0 "$lathe" targets show host -o host.target.json
gives 0 "$lathe" tune "$a" --trials 3 --seed 1 --db a.db --target @host.target.json
gives 0 "$lathe" db export --winners --db a.db -o log.jsonl
build() { "$lathe" build "$a" "fc=$b" --target @host.target.json "$@"; }

# A miss lists what is missing and builds nothing; otherwise the default schedule is named.
gives 4 build --records log.jsonl -o none
says '1 of 2 schedules have no record'
says '^  fc for'
[ ! -e none ] || fail "a refused build wrote files"
gives 0 build --records log.jsonl --on-miss default -o first --depfile first.d
says ': record '
says '^fc for .*default schedule'

# Files are those that were announced; the dependencies are named.
gives 0 build -o first --list-outputs
sort out >announced.txt
find first -type f | sort >written.txt
cmp announced.txt written.txt || fail "other files than announced"
for pattern in 'libkernels.a:' log.jsonl host.target.json; do
  grep -q "$pattern" first.d || fail "the depfile lacks $pattern"
done

# Fresh processes make the same bytes, also at once, and from the database.
for i in 1 2 3 4; do build --db a.db --on-miss default -o "again$i" >/dev/null & done
wait
for i in 1 2 3 4; do diff -r first "again$i" >/dev/null || fail "process $i built other bytes"; done

# A log is replayed; one that was tampered with is refused.
gives 0 "$lathe" check --records log.jsonl --json
says '"records": 1'
gives 0 "$lathe" check --records log.jsonl --junit junit.xml --compile-for @host.target.json
grep -q '<testsuite name="log.jsonl" tests="1" failures="0">' junit.xml || fail "JUnit's summary is wrong"
sed 's/vectorize/vektorize/g; s/,"id":"[0-9a-f]*"//' log.jsonl >bad.jsonl
gives 1 "$lathe" check --records bad.jsonl

# One that cannot be read is a failure in JUnit's file, too, and the others are checked.
head -c 900 log.jsonl >cut.jsonl
gives 1 "$lathe" check --records cut.jsonl log.jsonl --junit junit.xml; says 'LTH-R015'; says '2 records, 1 with a problem'
grep -q '<testsuite name="cut.jsonl" tests="1" failures="1">' junit.xml || fail "JUnit's file passes over a broken log"

# Files stay in their folder.
for name in ../evil a/b 'a b' .hidden -o; do
  gives 1 build --on-miss default -o named "--name=$name"; says 'LTH-B006'
  gives 1 build --on-miss default -o named "--name=$name" --list-outputs; says 'LTH-B006'
done
[ ! -e named ] || fail "a refused name left files"

# A log that is missing is named, with the command that writes one.
gives 1 build --records no/layers.jsonl -o none; says 'LTH-U006'; says 'lathe db export'; says 'No such file'
gives 1 "$lathe" check --records no/layers.jsonl; says 'lathe db export'

# A short session with cold caches displaces no winner of a long one with warm ones, except for who asks for cold ones.
best() { "$lathe" db best "$a" --db a.db -k 1 "$@" | awk '{print $3}'; }
warm=$(best)
gives 0 "$lathe" tune "$a" --trials 2 --cold --db a.db
is "$(best)" "$warm" "the best after a session with cold caches"
cold=$(best --cold)
[ "$cold" != "$warm" ] || fail "--cold changes nothing"
"$lathe" db export --winners --db a.db -o both.jsonl 2>/dev/null
gives 0 "$lathe" build "$a" --records both.jsonl -o both; says "record ${warm:0:12}"
gives 0 "$lathe" build "$a" --records both.jsonl -o both --cold; says "record ${cold:0:12}"
gives 0 "$lathe" run "$a" --db a.db --cold; says "record ${cold:0:12}"

# Two levels; each computes what it should on this machine.
gives 0 "$lathe" build "$a" 'conv=conv2d(n=1,h=9,w=9,ci=5,co=7)' --levels x86-64-v2,x86-64-v3 --on-miss default \
  --name net -o levels
gives 0 "$lathe" verify levels --name net
says '4 runs, 0 wrong'
gives 0 "$lathe" verify levels; says '4 runs, 0 wrong'  # one artefact in the folder needs no name
mkdir nothing
gives 1 "$lathe" verify nothing; says 'holds no manifest'
printf 'x' >>levels/net.h
gives 1 "$lathe" verify levels --name net
says 'is not the file that was built'
finish
