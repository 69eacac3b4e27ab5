#!/usr/bin/env bash
# Runs the host-side benchmarks; without a GPU, on the stub driver of the tests. Usage: run.sh BUILD_DIR [BENCHMARK_ARGS]
set -euo pipefail
build=$1
shift
if [ -z "${KAON_CUDA_DRIVER:-}" ] && ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  KAON_CUDA_DRIVER=$(find "$build" -name 'libstub_driver.so' | head -1)
  export KAON_CUDA_DRIVER
  echo "no CUDA driver: launches go to the stub driver, and cost what the runtime costs"
fi
exec "$build/bin/bench_dispatch" "$@"
