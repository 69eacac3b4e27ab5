#!/usr/bin/env bash
# Every source is named in the CMake list of its folder or of one above, and the lists are sorted.
set -uo pipefail
cd "$1"
bad=0

while read -r source; do
  dir=$(dirname "$source")
  found=0
  while :; do
    if [ -f "$dir/CMakeLists.txt" ]; then
      relative=${source#"$dir"/}
      stem=${relative%.*}
      grep -qE "(^|[ (\"/])(${relative//./\\.}|${stem//./\\.})([ )\"]|\$)" "$dir/CMakeLists.txt" && found=1 && break
    fi
    [ "$dir" = . ] && break
    dir=$(dirname "$dir")
  done
  [ $found = 1 ] || { echo "$source: in no CMakeLists.txt"; bad=1; }
done < <(git ls-files '*.cpp' '*.c' | grep -v '^tests/install/\|/fixtures/')

# A run of lines that each name one .cpp file, indented, is a list.
while read -r list; do
  awk -v file="$list" '
    /^ +[A-Za-z0-9_\/.]+\.cpp$/ { name = $1; if (previous != "" && name < previous) { print file ":" NR ": " name " comes after " previous; bad = 1 } previous = name; next }
    { previous = "" }
    END { exit bad }' "$list" || bad=1
done < <(git ls-files '*CMakeLists.txt')

[ $bad = 0 ] && echo "lists: ok"
exit $bad
