#!/usr/bin/env bash
# Installs the built package into a fresh folder, builds the consumer against nothing else, and compares what it prints.
# Usage: check_consumer.sh SOURCE_DIR BUILD_DIR STUB_DRIVER
set -euo pipefail
source_dir=$1 build_dir=$2 stub=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack=$source_dir/tests/unit/runtime/fixtures/scale_rows_sm90.kpack

cmake --install "$build_dir" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
grep -rn "$source_dir" "$work/prefix" --include='*.cmake' --include='*.h' && { echo "the package names the source folder"; exit 1; }
{ cmake -S "$source_dir/tests/install/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DKAON_TEST_PACK="$pack" -DCMAKE_BUILD_TYPE=Release && cmake --build "$work/build" -j2; } >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }

check() {
  local expected=$1 got
  shift
  got=$("$@") || { echo "$* failed: $got"; exit 1; }
  [ "$got" = "$expected" ] || { printf 'expected: %s\ngot:      %s\n' "$expected" "$got"; exit 1; }
}
export KAON_CUDA_DRIVER=$stub
check "scale_rows: tuned table sm90, block.m=4" "$work/build/consumer_cpp"
check "tuned table sm90, block.m=4, 16 blocks
scale_rows: no table for dtypes (f16, f32, f16), compiled for f16, f32" "$work/build/consumer_c" "$pack"

check "scale_rows: forced table sm90, block.m=8" "$work/build/consumer_kernels"

# Two copies in one process share nothing: what one forces and counts is not the other's.
check "0: forced block.m=8, calls 1
1: tuned block.m=4, calls 1
0: forced block.m=8, calls 2
1: tuned block.m=4, calls 2" "$work/build/copies" "$work/build/libplugin_a.so" "$work/build/libplugin_b.so" "$pack"
exported=$(nm -DC --defined-only "$work/build/libplugin_a.so" | grep -v ' plugin_call$' | grep -i 'kaon' || true)
[ -z "$exported" ] || { echo "a plugin exports what it carries: $exported"; exit 1; }

# Without CMake: pkg-config, C11, C++17, link-time optimisation, the static library and the shared one.
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name kaon.pc)")
  export PKG_CONFIG_PATH
  warn="-Wall -Wextra -Wpedantic -Werror -O2"
  consumer=$source_dir/tests/install/consumer
  cc -std=c11 $warn "$consumer/main.c" -o "$work/plain_c" $(pkg-config --cflags --libs kaon)
  cc -std=c11 $warn "$consumer/main.c" -o "$work/shared_c" $(pkg-config --cflags --libs kaon-shared) \
    -Wl,-rpath,"$(pkg-config --variable=libdir kaon-shared)"
  c++ -std=c++17 $warn -flto -fno-exceptions -fno-rtti "$consumer/main.cpp" "$work/build/kaon_pack_scale_rows.S" \
    -o "$work/plain_cpp" $(pkg-config --cflags --libs kaon)
  cc -std=c11 $warn "$consumer/dlpack.c" -o "$work/dlpack_c" $(pkg-config --cflags --libs kaon)
  c++ -x c++ -std=c++17 $warn "$consumer/dlpack.c" -x none -o "$work/dlpack_cpp" $(pkg-config --cflags --libs kaon)
  check "tuned block.m=4" "$work/dlpack_c" "$pack"
  check "tuned block.m=4" "$work/dlpack_cpp" "$pack"
  for program in plain_c shared_c; do
    check "tuned table sm90, block.m=4, 16 blocks
scale_rows: no table for dtypes (f16, f32, f16), compiled for f16, f32" "$work/$program" "$pack"
  done
  check "scale_rows: tuned table sm90, block.m=4" "$work/plain_cpp"
fi

# Tuned kernels on the CPU target, where this build has both: every result is checked, and says what served it.
for program in serve_cpp serve_c; do
  [ -x "$work/build/$program" ] || continue
  got=$("$work/build/$program") || { echo "$program failed: $got"; exit 1; }
  [ "$(grep -c " right " <<< "$got")" -ge 4 ] && ! grep -q WRONG <<< "$got" || { echo "$program: $got"; exit 1; }
done

# The package needs nothing that a serving machine lacks.
ldd "$work/build/consumer_cpp" "$work/build/consumer_c" | grep -iE 'llvm|cuda|boost|gtest' && { echo "unexpected library"; exit 1; }
export KAON_CUDA_DRIVER=/nonexistent/libcuda.so.1
got=$("$work/build/consumer_cpp") && { echo "expected a failure without a driver, got: $got"; exit 1; }
case $got in no_device:*) ;; *) echo "expected a no_device status, got: $got"; exit 1 ;; esac
echo "consumer: ok"
