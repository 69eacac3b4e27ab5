#!/usr/bin/env bash
# What the static runtime adds to an empty program that comes to load a pack, preload and call one kernel, linked with
# --gc-sections and stripped: its code, and all of it with constants and unwind tables.
# Usage: check_size.sh CXX SOURCE_DIR CODE_LIMIT FILE_LIMIT LIBRARY...
set -euo pipefail
cxx=$1 source_dir=$2 code_limit=$3 file_limit=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo 'int main() { return 0; }' >"$work/empty.cpp"
for program in empty call; do
  source=$work/$program.cpp
  [ $program = empty ] || source=$source_dir/tests/install/size_call.cpp
  "$cxx" -std=c++20 -O2 -I"$source_dir" "$source" -o "$work/$program" -Wl,--gc-sections "$@" -ldl -pthread
  strip "$work/$program"
done
"$work/call" || { echo "the program that is measured failed"; exit 1; }
code_of() { size -A "$1" | awk '$1 == ".text" {print $2}'; }
code=$(($(code_of "$work/call") - $(code_of "$work/empty")))
file=$(($(stat -c %s "$work/call") - $(stat -c %s "$work/empty")))
size -A "$work/call" | awk '$1 ~ /^\./ && $2 > 2000 {print "  " $1, $2}'
echo "the runtime adds $code bytes of code, at most $code_limit, and $file bytes in all, at most $file_limit"
[ "$code" -le "$code_limit" ] && [ "$file" -le "$file_limit" ]
