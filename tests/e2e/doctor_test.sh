#!/usr/bin/env bash
# aot_runner doctor and aot_runner explain --kernel: what they say with a driver and without one, of good packs and of bad
# ones, and of wrong command lines. Usage: doctor_test.sh AOT_RUNNER STUB_DRIVER SOURCE_DIR
set -uo pipefail
aot_runner=$1 stub=$2 source_dir=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset KAON_HEURISTIC_DIR KAON_FORCE_VARIANT KAON_ALLOW_PTX
bad=0

# expect STATUS TEXT... -- COMMAND...: the command ends with that status and says all of the texts.
expect() {
  local status=$1 texts=() got code
  shift
  while [ "$1" != -- ]; do texts+=("$1"); shift; done
  shift
  got=$("$@" 2>&1)
  code=$?
  [ $code = "$status" ] || { echo "$*: status $code, expected $status: $got"; bad=1; }
  for text in "${texts[@]}"; do
    grep -qF -- "$text" <<<"$got" || { printf '%s: does not say: %s\n%s\n' "$*" "$text" "$got"; bad=1; }
  done
}
json() { python3 -c 'import json,sys; d = json.load(sys.stdin); assert eval(sys.argv[1]), (sys.argv[1], d)' "$1" || bad=1; }

# Without a driver: what there is all the same, and what to install.
export KAON_CUDA_DRIVER=$work/libcuda.so.1
expect 1 "problem: cannot load the CUDA driver" "install the NVIDIA driver" "pack     softmax sm90" -- "$aot_runner" doctor
"$aot_runner" doctor --json | json 'd["driver"]["error"] and not d["devices"] and any(p["kernel"] == "softmax" for p in d["packs"])'
"$aot_runner" doctor --json | json 'all(len(p["hash"]) == 16 and p["image_bytes"] > 0 for p in d["packs"])'

# On the stub's devices of sm_90 what was tuned there is exact; every kernel that was not is named with what to run.
export KAON_CUDA_DRIVER=$stub
untuned=() missing=0
for pack in "$source_dir"/pretuned/*/host/*.kpack; do
  kernel=$(basename "$(dirname "$(dirname "$pack")")")
  [ -f "$source_dir/pretuned/$kernel/sm90/${kernel}_sm90.kpack" ] || untuned+=("'$kernel',") missing=1
done
expect $missing "sm_90" "softmax: table sm90, exact" -- "$aot_runner" doctor
[ $missing = 1 ] || expect 0 "nothing is missing" -- "$aot_runner" doctor
"$aot_runner" doctor --json | json 'd["devices"][0]["sm"] == 90 and d["devices"][0]["max_shared_bytes"] > 99000'
"$aot_runner" doctor --json | json "{p.split()[0] for p in d['problems']} == set([${untuned[*]}]) and all('run: aot_runner tune' in p for p in d['problems'])"
"$aot_runner" doctor --json | json "all((s['fit'] == 'exact') != (s['kernel'] in [${untuned[*]}]) for s in d['services']) and len(d['services']) >= 2"

# Packs of a folder, those below it as well; what is no pack is named.
mkdir -p "$work/packs/below"
cp "$source_dir/tests/unit/runtime/fixtures/scale_rows_sm90.kpack" "$work/packs/below/"
expect $missing "pack     scale_rows sm90" "$work/packs/below/scale_rows_sm90.kpack" -- "$aot_runner" doctor "$work/packs"
echo nonsense >"$work/packs/broken.kpack"
expect 1 "problem: $work/packs/broken.kpack" -- "$aot_runner" doctor "$work/packs"
expect 1 "problem: $work/nowhere" -- "$aot_runner" doctor "$work/nowhere"
mkdir "$work/empty"
expect 1 "holds no .kpack" -- "$aot_runner" doctor "$work/empty"
expect 1 "KAON_HEURISTIC_DIR is mended or unset" -- env KAON_HEURISTIC_DIR="$work/packs" "$aot_runner" doctor
rm "$work/packs/broken.kpack"

# Explanations from packs alone, for a chip that is not here, without any driver.
export KAON_CUDA_DRIVER=/nonexistent
explain=("$aot_runner" explain --kernel softmax --shape 4096x12544)
expect 0 "M = 4096, N = 12544 on RTX 5090 (sm120)" "tuned for older hardware" "nearest measured" "path" "serves" \
  "this table elsewhere" "sm_90:" -- "${explain[@]}" --dtype f16 --device-facts sm_120
expect 0 "this shape is one of them" "evidence" -- "${explain[@]}" --dtypes f16 --device-facts 90
expect 0 "SIMT machine (host)" -- "$aot_runner" explain --kernel softmax --shape 8x128 --dtypes f32 --device-facts host
expect 0 "scale_rows f16" -- "$aot_runner" explain --kernel scale_rows --packs "$work/packs" --shape 64x256 --dtypes f16 \
  --device-facts sm90
expect 0 "M = 0, N = 64 on" -- "$aot_runner" explain --kernel softmax --shape 0x64 --dtypes f16 --device-facts sm_90
expect 1 "expected one of sm_75" "sm_120" -- "${explain[@]}" --dtypes f16 --device-facts sm_119
expect 1 "no table for dtypes f64, there are" -- "${explain[@]}" --dtypes f64 --device-facts sm_90
expect 1 "--dtypes is missing: softmax has tables for" -- "${explain[@]}" --device-facts sm_90
expect 1 "got 3 dims, expected 2: M x N" -- "$aot_runner" explain --kernel softmax --shape 1x2x3 --dtypes f16 --device-facts sm_90
expect 1 "expected whole numbers of at least 0 such as 4096x1024" -- "$aot_runner" explain --kernel softmax --shape 4096xN --dtypes f16 \
  --device-facts sm_90
expect 1 "no pack of a kernel sofmax, there are some of" "softmax" -- "$aot_runner" explain --kernel sofmax --shape 1x2 --device-facts sm_90
expect 2 "takes either --from" -- "$aot_runner" explain --shape 1x2
expect 2 "go with --kernel" -- "$aot_runner" explain --from "$source_dir/pretuned/softmax/sm90" --shape 1x2 --device-facts sm_90

[ $bad = 0 ] && echo "doctor and explain: ok"
exit $bad
