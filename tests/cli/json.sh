#!/usr/bin/env bash
# json.sh LATHE OWN: with --json, standard output is one JSON value, whatever the verb.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
w='softmax(m=8,n=64)'
# json CODE ARGUMENT...: ends with the code, and prints one JSON value.
json() {
  local want=$1 have=0
  shift
  "$lathe" "$@" --json >out 2>err || have=$?
  [ "$have" = "$want" ] || { cat err; fail "exit code $have instead of $want: $*"; }
  python3 -m json.tool out >/dev/null || fail "no JSON: $*"
  passed=$((passed + 1))
}
json 0 tune "$w" --trials 6 --db a.db
json 0 tune "$w" 'softmax(m=9,n=64)' --trials 4 --db a.db
json 0 tune "$w" --dry-run
json 0 targets
json 0 workloads
json 0 db ls --db a.db
json 0 db stats --db a.db
json 0 db best "$w" --db a.db
json 4 db best 'softmax(m=7,n=64)' --db a.db
json 0 db why "$w" --db a.db
json 4 db why 'softmax(m=7,n=64)' --db a.db
json 0 db check --db a.db
json 0 db export --db a.db -o a.jsonl
json 0 db import a.jsonl --db b.db
json 0 db merge a.db --db b.db
json 0 db prune --keep-top 2 --db b.db
json 0 db prune --drop-failures 0 --dry-run --db b.db
json 0 db compact --db b.db
json 0 session ls --db a.db
session=$(python3 -c 'import json; print(json.load(open("out"))[0]["session"])')
json 0 session show "$session" --db a.db
json 0 session resume "$session" --trials 1 --db a.db
json 0 trial show 1 --db a.db
json 0 trial rerun 1 --db a.db
json 0 trial rerun 1 --db a.db --sanitize
json 0 run "$w" --db a.db
json 0 build "$w" --db a.db -o built
json 0 build "$w" -o built --list-outputs
json 0 verify built
json 0 check --records a.jsonl
json 0 model eval --db a.db
finish
