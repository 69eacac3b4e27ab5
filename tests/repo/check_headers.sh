#!/usr/bin/env bash
# Every header compiles by itself: the runtime's as C++17, which the builds try in C++20, and its C header also as C11.
set -uo pipefail
cd "$1"
export CXX=${2:-g++} CC=${3:-gcc}

check_one() {
  local header=$1 standards=(c++20)
  case $header in
    runtime/host/simt_abi.h | runtime/kaon.h)
      "$CC" -std=c11 -I. -Wall -Wextra -Werror -fsyntax-only -include "$header" -x c /dev/null || return 1
      standards=(c++17) ;;
    runtime/base/* | runtime/driver/* | runtime/launch/* | runtime/*.h*) standards=(c++17) ;;
  esac
  # Helpers of tests see the paths that their CMakeLists.txt define.
  local defines=(-DKAON_SOURCE_DIR='"."' -DKAON_STUB_DRIVER='"libstub_driver.so"')
  [[ $header == tests/* ]] || defines=()
  for standard in "${standards[@]}"; do
    "$CXX" -std="$standard" "${defines[@]}" -I. -isystem /usr/lib/llvm-19/include -fsyntax-only -include "$header" -x c++ /dev/null ||
      { echo "$header: does not compile alone as $standard"; return 1; }
  done
}
export -f check_one
git ls-files '*.h' '*.hpp' | grep -v '^tests/install/' | xargs -P "$(nproc)" -I{} bash -c 'check_one "$1"' _ {} && echo "headers: ok"
