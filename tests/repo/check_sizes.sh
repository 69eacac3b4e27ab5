#!/usr/bin/env bash
# No hand-written source is longer than 500 lines, and no committed artifact is larger than its budget.
set -uo pipefail
cd "$1"
bad=0
while read -r file; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 500 ] || { echo "$file: $lines lines, at most 500"; bad=1; }
done < <(git ls-files '*.cpp' '*.h' '*.inc' '*.c' '*.sh' '*.py' '*.cmake' dev | grep -v '\.gen\.cpp$')
check_bytes() {
  while read -r file; do
    bytes=$(wc -c <"$file")
    [ "$bytes" -le "$2" ] || { echo "$file: $bytes bytes, at most $2"; bad=1; }
  done < <(git ls-files "$1")
}
check_bytes '*.kpack' 409600
check_bytes '*measurements.json' 512000
[ $bad = 0 ] && echo "sizes: ok"
exit $bad
