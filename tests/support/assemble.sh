#!/usr/bin/env bash
# Does ptxas take this PTX without a warning? assemble.sh ARCH FILE; exit status 77 where there is no ptxas.
set -uo pipefail
arch=$1 file=$2

find_ptxas() {
  if [ -n "${KAON_PTXAS:-}" ]; then
    [ -x "$KAON_PTXAS" ] && echo "$KAON_PTXAS"
    return
  fi
  command -v ptxas && return
  for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    [ -n "$folder" ] && [ -x "$folder/bin/ptxas" ] && echo "$folder/bin/ptxas" && return
  done
}

ptxas=$(find_ptxas)
[ -n "$ptxas" ] || { echo "[SKIP] no ptxas: install a CUDA toolkit of 12.4 or newer, or set KAON_PTXAS"; exit 77; }
output=$("$ptxas" -arch="$arch" -Werror -o /dev/null "$file" 2>&1) && exit 0
case $output in
  *"'$arch' is not defined"*) echo "[SKIP] $ptxas is too old for $arch"; exit 77 ;;
esac
echo "$output"
exit 1
