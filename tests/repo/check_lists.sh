#!/usr/bin/env bash
# Every source is named in some CMakeLists.txt, and the lists are sorted and name each file once.
# Not held to it: sources that aot_runner wrote (a loop over kernels adds them) and those that are only read by tests.
set -uo pipefail
cd "$1"
bad=0

# The sources that the lists name, as paths from the root.
named_sources() {
  git ls-files '*CMakeLists.txt' | while read -r list; do
    grep -oE '[^ ()"]+\.(cpp|c)($|[ )"])' "$list" | tr -d ' )"' | sed -E "s#^#$(dirname "$list")/#; s#^.*\\\$\{PROJECT_SOURCE_DIR\}/##"
  done | xargs realpath -ms --relative-to=. | sort -u
}

while read -r source; do
  echo "$source: in no CMakeLists.txt"
  bad=1
done < <(comm -13 <(named_sources) <(git ls-files '*.cpp' '*.c' | grep -v '^tests/install/\|/fixtures/\|\.gen\.cpp$' | sort))

# A run of lines that each name one .cpp file, indented, is a list.
while read -r list; do
  awk -v file="$list" '
    /^ +[A-Za-z0-9_\/.]+\.cpp$/ {
      if (previous != "" && $1 <= previous) { print file ":" NR ": " $1 " comes after " previous; bad = 1 }
      previous = $1
      next
    }
    { previous = "" }
    END { exit bad }' "$list" || bad=1
done < <(git ls-files '*CMakeLists.txt')

[ $bad = 0 ] && echo "lists: ok"
exit $bad
