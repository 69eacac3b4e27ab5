#!/usr/bin/env bash
# Builds a program that takes Kaon in by add_subdirectory(), and compares what it prints.
# Usage: check_subdirectory.sh SOURCE_DIR STUB_DRIVER
set -euo pipefail
source_dir=$1 stub=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{ cmake -S "$source_dir/tests/install/subdirectory" -B "$work/build" -DKAON_SOURCE_DIR="$source_dir" -DKAON_WERROR=ON \
    -DKAON_TEST_PACK="$source_dir/tests/unit/runtime/fixtures/scale_rows_sm90.kpack" -DCMAKE_BUILD_TYPE=Release &&
  cmake --build "$work/build" -j2; } >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
[ ! -e "$work/build/kaon/compiler" ] || { echo "the compiler is a part of the build"; exit 1; }
got=$(KAON_CUDA_DRIVER=$stub "$work/build/parent")
expected="scale_rows: tuned table sm90, block.m=4"
[ "$got" = "$expected" ] || { printf 'expected: %s\ngot:      %s\n' "$expected" "$got"; exit 1; }
echo "subdirectory: ok"
