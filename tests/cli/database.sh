#!/usr/bin/env bash
# database.sh LATHE OWN: the store's verbs, and stores that are damaged, foreign, newer, read-only, or on a full disk.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
w='matmul(m=32,n=32,k=32)'
v='matmul(m=16,n=16,k=16)'
"$lathe" tune "$w" --trials 4 --db a.db >/dev/null 2>&1
"$lathe" tune "$v" --trials 3 --db b.db >/dev/null 2>&1

gives 0 "$lathe" db ls --db a.db; says 'm=32'
gives 0 "$lathe" db stats --db a.db; says 'trials *4'
gives 0 "$lathe" db best "$w" --db a.db -k 2; says ' ms '
gives 0 "$lathe" db why "$w" --db a.db
gives 4 "$lathe" db why "$v" --db a.db; says 'program'
gives 4 "$lathe" db best "$v" --db a.db
gives 4 "$lathe" db why "$w" --db a.db --target skylake-avx512; says 'target'
gives 4 "$lathe" db why "$v" --db a.db --json; python3 -m json.tool out >/dev/null || fail "why --json is no JSON"

# Text: deterministic, mergeable, idempotent.
gives 0 "$lathe" db export --db a.db -o a.jsonl
gives 0 "$lathe" db export --db b.db -o b.jsonl
gives 0 "$lathe" db import a.jsonl b.jsonl --db ab.db
gives 0 "$lathe" db import b.jsonl a.jsonl a.jsonl --db ba.db
"$lathe" db export --db ab.db -o ab.jsonl 2>/dev/null
"$lathe" db export --db ba.db -o ba.jsonl 2>/dev/null
cmp ab.jsonl ba.jsonl || fail "the order of imports shows"
LC_ALL=C sort -u a.jsonl b.jsonl | cmp - ab.jsonl || fail "sort -u of two logs is no log of both"
gives 0 "$lathe" db merge b.db --db a.db
"$lathe" db export --db a.db -o merged.jsonl 2>/dev/null
cmp merged.jsonl ab.jsonl || fail "merging stores differs from merging their logs"
gives 1 "$lathe" db merge a.db --db a.db; says 'the database itself'
gives 0 "$lathe" db export --winners --db ab.db -o winners.jsonl
is "$(grep -c '"kind":"trial"' winners.jsonl)" 2 "winners"

gives 2 "$lathe" db prune --db ab.db; says 'say what may go'
gives 0 "$lathe" db prune --keep-top 1 --dry-run --db ab.db; says 'would be'
"$lathe" db export --db ab.db -o after_dry.jsonl 2>/dev/null
cmp after_dry.jsonl ab.jsonl || fail "a dry run changed something"
gives 0 "$lathe" db prune --keep-top 1 --db ab.db
gives 0 "$lathe" run "$w" --db ab.db --on-miss error; says 'record'
gives 0 "$lathe" db compact --db ab.db
gives 0 "$lathe" db check --db ab.db; says 'good'

# A bad line: its place is named, nothing is imported.
{ cat b.jsonl; echo '{"lathe":1,"kind":"nonsense"}'; } >bad.jsonl
gives 1 "$lathe" db import bad.jsonl --db none.db; says "bad.jsonl:$(wc -l <bad.jsonl)"
gives 0 "$lathe" db stats --db none.db; says 'trials *0'
sed 's/"lathe":1/"lathe":99/' b.jsonl >newer.jsonl
gives 1 "$lathe" db import newer.jsonl --db none.db; says 'LTH-R018\|newer\|format'

# What is no store stays as it is, byte for byte.
echo 'not a database, but long enough to have a header of its own, were it one' >text.db
sqlite_like() { python3 - "$1" <<'P'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("create table t(x)"); c.commit()
P
}
sqlite_like foreign.db
cp a.db newer.db; python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit(); c.close()'
head -c 20000 a.db >cut.db
for bad in text foreign newer cut; do
  cp $bad.db before.bin
  gives 1 "$lathe" db ls --db $bad.db; says "$bad.db"
  gives 1 "$lathe" tune "$w" --trials 1 --db $bad.db
  cmp $bad.db before.bin || fail "a refused open changed $bad.db"
done
gives 1 "$lathe" db ls --db no_such.db; says 'no_such.db'
gives 1 "$lathe" tune "$w" --trials 1 --db no/such/folder/a.db

# A database is never taken for a place to write to, nor for a text.
cp a.db before.bin
for verb in "db export -o a.db" "report -o a.db" "propose $v -o a.db" "tune $v --log a.db"; do
  # shellcheck disable=SC2086
  gives 1 "$lathe" $verb --db a.db; says 'LTH-U009'
done
gives 1 "$lathe" targets show host -o a.db; says 'LTH-U009'
cmp a.db before.bin || fail "a database was written over"
gives 1 "$lathe" check --records a.db; says 'is a database'
gives 1 "$lathe" ingest a.db --db none.db; says 'is a database'

# Read-only, for those whom permissions bind.
mkdir ro; cp b.db ro/; chmod a-w ro ro/b.db
gives 0 "$lathe" run "$v" --db ro/b.db --on-miss error
if [ "$(id -u)" != 0 ]; then gives 1 "$lathe" tune "$v" --trials 1 --db ro/b.db; fi

# A disk that gets full under a session: an error with its name, and all that was acknowledged is still there.
"$lathe" tune 'softmax(m=9,n=64)' --trials 4 --round 2 --db filling.db >/dev/null 2>&1
size=$(($(stat -c %s filling.db) / 1024 + 24))
gives 1 bash -c "ulimit -f $size; exec '$lathe' tune 'softmax(m=9,n=64)' --trials 200 --round 2 --resume --db filling.db --log filling.log"
says 'LTH-R008'
gives 0 "$lathe" db check --db filling.db; says 'good'
lost=$(($(grep -c '"event":"trial"' filling.log) + 4 - $("$lathe" db stats --db filling.db --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["trials"])')))
[ $lost -ge 0 ] && [ $lost -le 2 ] || fail "a full disk lost $lost trials of batches of 2"
gives 0 "$lathe" tune 'softmax(m=9,n=64)' --trials 2 --resume --db filling.db

# A full disk, by a limit on file sizes: refused with its name, and what was there is still good.
cp b.db full.db
gives 1 bash -c "trap '' XFSZ; ulimit -f 16; exec '$lathe' db import a.jsonl --db full.db"; says 'full.db'
gives 0 "$lathe" db check --db full.db; says 'good'
finish
