#!/usr/bin/env bash
# The main job on the CPU target `host`: sweep, tune, distil, emit, then serve from what came out.
# Usage: demo.sh BUILD_DIR OUT_DIR. Run again, it reuses what was measured.
set -euo pipefail
build=$1 out=$2
here=$(dirname "${BASH_SOURCE[0]}")
export KAON_CACHE_DIR=$out/cache
mkdir -p "$out/packs"

step() { printf '\n\033[1m-- %s\033[0m\n' "$*"; }

for kernel in vector_add softmax; do
  source=$here/$kernel/$kernel.tile shapes=$here/$kernel/$kernel.host.shapes.json
  step "the sweep of $kernel"
  "$build/bin/aot_runner" shapes "$source" --shapes "$shapes"
  step "tuning $kernel on host"
  "$build/bin/aot_runner" tune "$source" --shapes "$shapes" --device host --effort quick --budget-seconds 30 --out "$out/$kernel"
  cp "$out/$kernel/host/${kernel}_host.kpack" "$out/packs/"
done
step "why softmax 64x1000 gets its variant"
"$build/bin/aot_runner" explain --from "$out/softmax/host" --shape 64x1000 --dtypes f32
step "serving from the packs that were just made"
KAON_HEURISTIC_DIR=$out/packs "$build/bin/kaon_serve_demo"
