#!/usr/bin/env bash
# A shared library needs no newer glibc and libstdc++ than manylinux_2_28 has, so that one build serves all later systems.
# Usage: check_symbols.sh LIBRARY
set -euo pipefail
declare -A limit=([GLIBC]=2.28 [GLIBCXX]=3.4.24 [CXXABI]=1.3.11)
bad=0
needed=$(objdump -T "$1" | grep -oE '\((GLIBC|GLIBCXX|CXXABI)_[0-9.]+\) +[^ ]+$' | tr -d '()' | sort -u)
[ -n "$needed" ] || { echo "$1 needs nothing versioned, which cannot be"; exit 1; }
while read -r version symbol; do
  family=${version%_*} number=${version#*_}
  highest=$(printf '%s\n%s\n' "$number" "${limit[$family]}" | sort -V | tail -1)
  [ "$highest" = "${limit[$family]}" ] || { echo "$symbol needs $version, at most ${family}_${limit[$family]}"; bad=1; }
done <<<"$needed"
[ $bad = 0 ] && echo "symbols: ok"
exit $bad
