#!/usr/bin/env bash
# Every header compiles by itself; the runtime's also as C++17, and its C header as C11.
# A source that includes its own header first proves that header whenever it is built alone, as the preset dev and builds
# with ccache do; what is compiled here are the headers without such a source, and those that have to pass in another
# standard than the build's.
set -uo pipefail
cd "$1"
export CXX=${2:-g++} CC=${3:-gcc}

# Whether the build compiles the header alone, as the first include of the source of the same name.
proved_by_build() {
  local source=${1%.h}.cpp
  [ -f "$source" ] && [ "$(grep -m1 '^#include' "$source")" = "#include \"$1\"" ]
}

check_one() {
  local header=$1 standards=()
  proved_by_build "$header" || standards+=(c++20)
  case $header in
    runtime/host/simt_abi.h | runtime/kaon.h)
      "$CC" -std=c11 -I. -Wall -Wextra -Werror -fsyntax-only -include "$header" -x c /dev/null || return 1
      standards+=(c++17) ;;
    runtime/base/* | runtime/driver/* | runtime/launch/* | runtime/*.h*) standards+=(c++17) ;;
  esac
  # Helpers of tests see the paths that their CMakeLists.txt define.
  local defines=(-DKAON_SOURCE_DIR='"."' -DKAON_STUB_DRIVER='"libstub_driver.so"')
  [[ $header == tests/* ]] || defines=()
  for standard in "${standards[@]}"; do
    "$CXX" -std="$standard" "${defines[@]}" -I. -isystem /usr/lib/llvm-19/include -fsyntax-only -include "$header" -x c++ /dev/null ||
      { echo "$header: does not compile alone as $standard"; return 1; }
  done
}
export -f check_one proved_by_build
git ls-files '*.h' '*.hpp' | grep -v '^tests/install/' | xargs -P "$(nproc)" -I{} bash -c 'check_one "$1"' _ {} && echo "headers: ok"
