#!/usr/bin/env bash
# Everything that needs a GPU, in one command: tune, check, sanitize, measure beside the peers, measure the host's side.
#
# usage: bench/gpu.sh [STAGE...]     stages: tune host check cases fuzz sanitize peers dispatch (default: all but sanitize)
#
# Uses .carry/kaon.tar.gz (from `./dev carry`) where it exists, else build/release. Results go to $OUT, or build/gpu:
# tuned.tar.gz (what belongs under pretuned/), <kernel>.json (what belongs under bench/results/<device>/), logs.
# `host` tunes for this machine's CPU. $KAON_CASES: how many random kernels `fuzz` runs (default 2000). $KAON_PEERS: a
# Helion checkout to time beside, with an empty module `filecheck` in the folder above it; torch and cupy are needed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${OUT:-build/gpu}
mkdir -p "$out"
if [ -f .carry/kaon.tar.gz ]; then
  rm -rf "${TMPDIR:-/tmp}/kaon" && tar -C "${TMPDIR:-/tmp}" -xzf .carry/kaon.tar.gz
  bin=${TMPDIR:-/tmp}/kaon
else
  bin=$PWD/build/release/bin
fi
export PATH=$bin:$PWD/build/release/tests/gpu:$PWD/build/release/tests/kernels:$PATH KAON_CACHE_DIR=${KAON_CACHE_DIR:-${TMPDIR:-/tmp}/kaon-cache}
kernels=${KAON_KERNELS:-$(for file in pretuned/*/*.tile; do basename "$file" .tile; done)}
failed=0
note() { printf '\n== %s\n' "$*"; }

tune() {
  local kernel results=${TMPDIR:-/tmp}/kaon-tuned
  for kernel in $kernels; do
    note "tuning $kernel"
    aot_runner tune "pretuned/$kernel/$kernel.tile" --shapes "pretuned/$kernel/$kernel.shapes.json" --device cuda:0 \
      --out "$results/$kernel" --targets sm_100,sm_120 ${KAON_TUNE_ARGS:-} || failed=1
  done
  tar -C "$results" -czf "$out/tuned.tar.gz" .
}

host() {
  local kernel results=${TMPDIR:-/tmp}/kaon-tuned
  for kernel in $kernels; do
    [ -f "pretuned/$kernel/$kernel.host.shapes.json" ] || continue
    note "tuning $kernel for the CPU"
    aot_runner tune "pretuned/$kernel/$kernel.tile" --shapes "pretuned/$kernel/$kernel.host.shapes.json" --device host \
      --effort quick --budget-seconds 60 --out "$results/$kernel" >"$out/host-$kernel.log" 2>&1 || failed=1
  done
  tar -C "$results" -czf "$out/tuned.tar.gz" .
}

# Serves the packs that were just tuned, if there are any, before the linked ones.
use_fresh_packs() {
  local packs
  packs=$(find "${TMPDIR:-/tmp}/kaon-tuned" -name '*_sm90.kpack' 2>/dev/null | paste -sd:)
  export KAON_BENCH_PACKS=$packs
}

check() {
  note "every variant against the oracle"
  use_fresh_packs
  pretuned_gpu_test || failed=1
  python3 tests/gpu/large_tensors.py "$bin/libkaon_pretuned.so" || failed=1
}

cases() {
  note "every kernel of the tests against the oracle, compiled here"
  kernel_cases tests/kernels --target "${KAON_TARGET:-sm_90}" --large || failed=1
}

fuzz() {
  note "random kernels against the oracle, compiled here"
  kernel_fuzz --cases "${KAON_CASES:-2000}" --target "${KAON_TARGET:-sm_90}" --keep-going --out "$out" || failed=1
}

sanitize() {
  local tool
  use_fresh_packs
  for tool in memcheck racecheck; do
    note "compute-sanitizer --tool $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 "$(command -v pretuned_gpu_test)" >"$out/$tool.log" 2>&1 || failed=1
    tail -3 "$out/$tool.log"
  done
}

# What a kernel is timed with is in bench/peer_shapes.py.
peers() {
  local kernel
  use_fresh_packs
  for kernel in $kernels; do
    note "$kernel beside its peers"
    PYTHONPATH=${KAON_PEERS:+$KAON_PEERS/..}:${PYTHONPATH:-} python3 bench/peers.py --lib "$bin/libkaon_pretuned.so" --kernel "$kernel" \
      ${KAON_SHAPES:+--shapes "$KAON_SHAPES"} ${KAON_DTYPES:+--dtypes "$KAON_DTYPES"} ${KAON_PEERS:+--helion "$KAON_PEERS"} \
      ${KAON_COMPILE:+--compile} --out "$out/$kernel.json" || failed=1
  done
}

dispatch() {
  note "the host's side of a call"
  local raw=${TMPDIR:-/tmp}/dispatch.json device driver
  bench_dispatch --benchmark_out="$raw" --benchmark_out_format=json || failed=1
  IFS=, read -r device driver < <(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
  python3 bench/dispatch_report.py "$raw" "$out/dispatch.json" "$device" "${driver# }" "$(date +%F)" || failed=1
}

[ $# -gt 0 ] || set -- tune host check cases fuzz peers dispatch
for stage in "$@"; do
  case $stage in
    tune | host | check | cases | fuzz | sanitize | peers | dispatch) "$stage" ;;
    *) echo "bench/gpu.sh: unknown stage '$stage', expected tune, host, check, cases, fuzz, sanitize, peers or dispatch" >&2; exit 2 ;;
  esac
done
exit $failed
