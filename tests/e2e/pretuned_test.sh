#!/usr/bin/env bash
# Every committed heuristic is what its measurements give, byte for byte, and none is stale.
# Usage: pretuned_test.sh AOT_RUNNER SOURCE_DIR
set -uo pipefail
aot_runner=$1 source_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
complain() { echo "$*"; bad=1; }

found=0
for measurements in "$source_dir"/pretuned/*/*/measurements.json; do
  folder=$(dirname "$measurements")
  kernel=$(basename "$(dirname "$folder")")
  found=$((found + 1))
  rm -rf "$work/out"
  "$aot_runner" emit --from "$measurements" --out "$work/out" >"$work/log" 2>&1 || complain "$folder: emit failed: $(cat "$work/log")"
  for file in "$folder"/*; do
    cmp -s "$file" "$work/out/$(basename "$file")" || complain "$file: not what emit makes of $measurements"
  done
  "$aot_runner" check "$folder" --tile "$source_dir/pretuned/$kernel/$kernel.tile" >"$work/log" 2>&1 || complain "$folder: $(cat "$work/log")"
done
[ $found -gt 0 ] || complain "no measurements under pretuned/"
[ $bad = 0 ] && echo "$found heuristics remade, none stale"
exit $bad
