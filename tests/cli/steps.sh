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
# A batch that does not fit is refused at its line.
{ head -1 b.jsonl; echo '{"lathe_batch":9}'; } >newer.jsonl
gives 1 "$lathe" measure newer.jsonl; says 'newer.jsonl:2'
tail -1 b.jsonl >orphan.jsonl
gives 1 "$lathe" measure orphan.jsonl; says 'orphan.jsonl:1'
finish
