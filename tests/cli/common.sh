# What the tests of the program share. Sourced as: source common.sh LATHE OWN  (own: tests/support/misbehaving.cpp)
set -euo pipefail
lathe=$(realpath "$1")
export LATHE=$lathe
here=$(dirname "$(readlink -f "$0")")
own=$(realpath "$2")
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
cd "$dir"
passed=0

fail() { echo "FAILED: $*" >&2; [ -s out ] && { echo "-- output:"; tail -20 out; } >&2; exit 1; }
# gives CODE COMMAND...: the command ends with the code; its output is in `out`.
gives() {
  local want=$1 have=0
  shift
  "$@" >out 2>&1 || have=$?
  [ "$have" = "$want" ] || fail "exit code $have instead of $want: $*"
  passed=$((passed + 1))
}
# says PATTERN: the last output has the pattern.
says() { grep -q -e "$1" out || fail "the output lacks '$1'"; passed=$((passed + 1)); }
is() { [ "$1" = "$2" ] || fail "$3: '$1', not '$2'"; passed=$((passed + 1)); }
finish() { echo "$passed passed, 0 failed"; }
