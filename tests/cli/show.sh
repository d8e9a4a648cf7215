#!/usr/bin/env bash
# show.sh LATHE OWN: a schedule step by step, and what each step changed.
source "$(dirname "$(readlink -f "$0")")/common.sh" "$@"
w='own_scale(n=20)'

# Headings are the calls, with the names of the loop nest above; what changes nothing (a query) has none.
gives 0 "$own" show "$w" --steps
is "$(grep '^----' out)" '---- the program as written
---- step 3: split(loop "i_1", {_, 6}, Tail::Guard)
---- step 4: reorder({loop "j_1", loop "i_1"})
---- step 5: unroll(loop "i_1")
---- step 7: compute_at(block "y", loop "i_0")' "headings"

gives 0 "$own" show "$w" --steps --diff
# The lines of a step that are marked.
lines() { awk -v step="$1" '/^----/ { on = index($0, step) } on && /^[-+] /' out; }
is "$(lines ': split(')" '-   for i_1 in 0..20:
+   for i_0 in 0..4:
+     for i_1 in 0..6:
-       block z(vi_1: i_1, vj_1: j_1)
+         block z(vi_1: i_0*6 + i_1, vj_1: j_1) where i_0*6 + i_1 < 20' "split"
is "$(lines ': reorder(')" '-     for i_1 in 0..6:
+       for i_1 in 0..6:' "reorder"
is "$(lines ': unroll(')" '-       for i_1 in 0..6:
+       for i_1 in 0..6 unrolled:' "unroll"
# Only what moved: z's loops are renamed (y's new ones come first), and not marked.
is "$(lines ': compute_at(' | grep -c 'z\[\|z(')" 0 "lines of z that compute_at is said to change"

gives 0 "$own" show "$w" --after blocks --diff
is "$(grep -c '^- *block ' out)" 2 "blocks that became plain statements"

# Options that say nothing together are refused.
gives 2 "$lathe" show 'matmul(m=8)' --diff; says '--steps'
gives 2 "$lathe" show 'matmul(m=8)' --steps --as cpp; says 'excludes'
gives 2 "$lathe" show 'matmul(m=8)' --after fma --as asm
gives 2 "$lathe" show 'matmul(m=8)' --after fma --steps
# What is wrong with a file of a program names the file.
echo '{' >bad.json
gives 1 "$lathe" show bad.json; says '"bad.json": '
finish
