#!/usr/bin/env bash
# A whole tuning run on the CPU target: killed three times and resumed, remade byte for byte, explained, checked, with
# images for further targets; and broken input, full disks and missing tools answered with one clear error each.
set -u
runner=$1
source_dir=$2
work=$(mktemp -d /tmp/kaon_e2e_XXXXXX)
trap 'rm -rf "$work"' EXIT
export KAON_CACHE_DIR=$work/cache
unset KAON_EFFORT KAON_BUDGET_SECONDS KAON_SKIP_CACHE KAON_FORCE_AUTOTUNE KAON_ASSERT_CACHE_HIT
tile=$work/softmax.tile
cp "$source_dir/pretuned/softmax/softmax.tile" "$tile"
# Rows of 127 refuse vectors, and rows of 3000 lie beyond the capacity of small resident reductions.
cat > "$work/softmax.shapes.json" <<'JSON'
{"kernel": "softmax", "dtypes": ["f32"], "train": [{"M": [1, 8], "N": [64, 127, 512, 3000]}], "held_out": [[4, 100], [3, 1000]]}
JSON
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

run=("$runner" tune "$tile" --shapes "$work/softmax.shapes.json" --device host --effort quick --budget-seconds 12 --out)

echo "== three kills, then a resume"
killed=0
for round in 1 2 3; do
  "${run[@]}" "$work/killed" > "$work/log" 2>&1 &
  pid=$!
  # Before its search a run has nothing to lose, and a slow machine takes its time to get there.
  until grep -q "^== search" "$work/log" || ! kill -0 "$pid" 2> /dev/null; do sleep 0.1; done
  sleep "0.$((3 * round))"
  kill -9 "$pid" 2> /dev/null && killed=$((killed + 1))
  wait "$pid" 2> /dev/null
done
[ "$killed" -ge 1 ] || fail "no kill hit a run at work"
"${run[@]}" "$work/killed" > "$work/log" 2>&1 || { fail "the resumed run"; cat "$work/log"; }
grep -q "resumed, start number" "$work/log" || fail "the resume does not say so"
grep -q "share of the oracle" "$work/log" || fail "no summary"
grep -A1 "^tree of softmax f32:" "$work/log" | grep -Eq "^  (if|variant) " || { fail "no tree"; cat "$work/log"; }

echo "== from the same store in one go: the same bytes"
KAON_ASSERT_CACHE_HIT=1 "${run[@]}" "$work/again" > "$work/log" 2>&1 || { fail "the run from the store"; cat "$work/log"; }
diff -r "$work/killed" "$work/again" || fail "files differ"
results=$work/killed/host
"$runner" emit --from "$results" --out "$work/emitted" > /dev/null || fail "emit"
diff -r "$results" "$work/emitted" || fail "emit gives other bytes"

echo "== chosen anew from what was measured: the same by default, fewer variants or shapes when asked"
"$runner" redistill "$tile" --from "$results" --shapes "$work/softmax.shapes.json" --out "$work/anew" > "$work/log" 2>&1 ||
  { fail "redistill"; cat "$work/log"; }
diff -r "$results" "$work/anew/host" || fail "redistill gives other bytes"
sed 's/512, 3000/512/' "$work/softmax.shapes.json" > "$work/fewer.json"
"$runner" redistill "$tile" --from "$results" --shapes "$work/fewer.json" --max-variants 2 --out "$work/anew" > "$work/log" 2>&1 ||
  { fail "redistill with fewer shapes"; cat "$work/log"; }
python3 - "$work/anew/host/report.json" <<'PY' || fail "redistill did not do what was asked"
import json, sys
row = json.load(open(sys.argv[1]))["dtypes"]["f32"]
assert row["variants"] <= 2 and row["shapes"] == 8, (row["variants"], row["shapes"])
PY

echo "== artifacts explain and check themselves"
"$runner" explain --from "$results" --shape 8x127 --dtypes f32 > "$work/log" || fail "explain"
grep -q -- "-> variant" "$work/log" || fail "explain names no variant"
"$runner" report "$results" | grep -q "held out" || fail "report"
"$runner" check "$results" --tile "$tile" > /dev/null || fail "check of fresh results"
python3 - "$results/report.json" <<'PY' || fail "report.json lacks a figure"
import json, sys
report = json.load(open(sys.argv[1]))
row = report["dtypes"]["f32"]
for group in (row["held_out"], row["train"]):
    assert 0 < group["geomean_of_oracle"] <= 1.5 and group["worst_of_oracle"] > 0, group
assert row["variants"] <= 8 and report["device"] and report["date"] and report["seconds"] > 0
PY

echo "== broken input: one clear error, nothing lost"
expect() {  # expect CODE TEXT COMMAND...
  local code=$1 text=$2
  shift 2
  "$@" > "$work/log" 2>&1
  local got=$?
  [ "$got" -eq "$code" ] || fail "exit $got, expected $code: $*"
  grep -q -- "$text" "$work/log" || { fail "no \"$text\" from: $*"; cat "$work/log"; }
}
cp -r "$results" "$work/before"
sed 's/exp(/exp2(exp(/' "$tile" > "$work/broken.tile"
expect 1 "broken.tile:" "$runner" tune "$work/broken.tile" --shapes "$work/softmax.shapes.json" --device host
echo '{"train": [{"M": 1, "K": 2}]}' > "$work/bad.json"
expect 1 "unknown dim \"K\"; the kernel's dims are M, N" "$runner" tune "$tile" --shapes "$work/bad.json" --device host
expect 1 "unknown device 'tpu:0'" "$runner" tune "$tile" --shapes "$work/softmax.shapes.json" --device tpu:0
expect 2 "say which shapes" "$runner" tune "$tile" --device host
expect 1 "errno" env KAON_CACHE_DIR=/proc/none "$runner" tune "$tile" --shapes "$work/softmax.shapes.json" --device host
expect 1 "cannot write into /proc/none: errno 2: No such file or directory" "${run[@]}" /proc/none
grep -q "search" "$work/log" && fail "tuning started before the folder was tried"
sed 's/3000/3001/' "$work/softmax.shapes.json" > "$work/other.json"
expect 1 "M=1 N=3001 was not measured; leave it out of" \
  "$runner" redistill "$tile" --from "$results" --shapes "$work/other.json" --out "$work/anew"
expect 1 "a kept variant is not in the store" env KAON_CACHE_DIR="$work/no_cache" \
  "$runner" redistill "$tile" --from "$results" --shapes "$work/softmax.shapes.json" --out "$work/anew"
head -c 1000 "$results/softmax_host.kpack" > "$work/emitted/softmax_host.kpack"
expect 1 "softmax_host.kpack: " "$runner" emit --from "$work/emitted"
diff -r "$work/before" "$results" || fail "a failed command changed the results"

echo "== a full disk: one error that names the file, the old files stay, the same command goes on"
# A limit on the size of files ends as a full disk does.
echo old > "$work/emitted/measurements.json"
(ulimit -f 4; "$runner" emit --from "$results" --out "$work/emitted" > "$work/log" 2>&1)
[ $? -eq 1 ] || fail "emit under a limit"
grep -q "cannot write $work/emitted/.*: errno 27: File too large" "$work/log" || { fail "no errno"; cat "$work/log"; }
[ "$(cat "$work/emitted/measurements.json")" = old ] || fail "a file was replaced though another did not fit"
expect 0 "wrote $work/emitted/softmax_host.gen.cpp" "$runner" emit --from "$results" --out "$work/emitted"
diff -r "$results" "$work/emitted" || fail "emit gives other bytes after a full disk"
# Runs a command with a small disk mounted on a folder, which nobody else sees.
on_disk() {  # on_disk SIZE FOLDER COMMAND...
  unshare -rm bash -c 'mount -t tmpfs -o "size=$1" none "$2" && shift 2 && "$@"' - "$@"
}
full_outputs() {  # the old files lie on the disk, and the new ones do not fit beside them
  cp -r "$results" "$work/disk/host" || return 9
  "$@" "$work/disk"
  local code=$?
  diff -r "$results" "$work/disk/host" || return 9
  return "$code"
}
full_store() {
  export KAON_CACHE_DIR=$work/disk
  "$@" "$work/full"
  local code=$?
  mount -o remount,size=256m "$work/disk" && "$runner" cache || return 9
  "$@" "$work/full" > "$work/log_after" 2>&1 || return 9
  return "$code"
}
export -f full_outputs full_store
export runner work results
mkdir "$work/disk"
if on_disk 64k "$work/disk" true 2> /dev/null; then
  size=$(($(du -sk "$results" | cut -f1) + 16))k
  expect 1 "cannot write $work/disk/host/.*: errno 28: No space left on device" \
    on_disk "$size" "$work/disk" bash -c 'full_outputs "$@"' - "${run[@]}"
  KAON_ASSERT_CACHE_HIT=1 "${run[@]}" "$work/after" > "$work/log" 2>&1 || { fail "the same command afterwards"; cat "$work/log"; }
  diff -r "$results" "$work/after/host" || fail "files differ after a full disk"
  expect 1 "cannot write the store $work/disk/tuning.sqlite: .*errno 28: .*free some space" \
    on_disk 256k "$work/disk" bash -c 'full_store "$@"' - "${run[@]}"
  [ "$(grep -c "^error: " "$work/log")" -eq 1 ] || { fail "more than one error"; cat "$work/log"; }
  grep -q " [1-9][0-9]* variants" "$work/log" || { fail "the store lost what it had"; cat "$work/log"; }
  grep -Eq "[1-9][0-9]* from the store; " "$work/log_after" || { fail "nothing was reused"; cat "$work/log_after"; }
else
  echo "not run: no tmpfs can be mounted here; store_test has the same with a limit on file sizes"
fi

echo "== no ptxas: what was looked at, and what to do"
kaonc=$(dirname "$runner")/kaonc
mend="install a CUDA toolkit of 12.4 or newer .* or set KAON_PTXAS to its ptxas; .* host needs none"
compile=("$runner" compile "$tile" --shapes "$work/softmax.shapes.json" --compile-for sm_90)
cubin=("$kaonc" --emit=cubin --target=sm_90 "$tile")
cp "$tile" "$work/ptxas"
chmod a-x "$work/ptxas"
for command in compile cubin; do
  declare -n words=$command
  expect 1 "KAON_PTXAS is /none, expected an executable file: errno 2: .*$mend" env KAON_PTXAS=/none "${words[@]}"
  expect 1 "KAON_PTXAS is $work/ptxas, .*errno 13: .*$mend" env KAON_PTXAS="$work/ptxas" "${words[@]}"
  toolkit=/usr/local/cuda/bin
  bare=(env -u KAON_PTXAS -u CUDA_PATH CUDA_HOME=/no/cuda PATH=/no/tools "${words[@]}")
  looked="KAON_PTXAS (not set), PATH (/no/tools), CUDA_HOME/bin (/no/cuda/bin), CUDA_PATH/bin (not set), $toolkit"
  if [ ! -x $toolkit/ptxas ]; then
    expect 1 "found no ptxas; looked at $looked; $mend" "${bare[@]}"
  elif on_disk 64k $toolkit true 2> /dev/null; then
    expect 1 "found no ptxas; looked at $looked; $mend" on_disk 64k $toolkit "${bare[@]}"
  fi
done

echo "== further targets: in the pack, and said not to have run"
if "${compile[@]}" --effort none > "$work/log" 2>&1; then
  "${run[@]}" "$work/cross" --targets sm_80,sm_100,sm_120 > "$work/log" 2>&1 || { fail "tuning with --targets"; cat "$work/log"; }
  "$runner" explain --from "$work/cross/host" --shape 8x127 > "$work/log" || fail "explain"
  all="host measured here; sm_80 cross-compiled, not run; sm_100 cross-compiled, not run; sm_120 cross-compiled, not run"
  [ "$(grep -c "^  variant [0-9]*: host measured" "$work/log")" -ge 1 ] || { fail "no images listed"; cat "$work/log"; }
  grep "^  variant [0-9]*: host measured" "$work/log" | grep -vq ": $all\$" && { fail "images missing"; cat "$work/log"; }
  expect 0 "up to date" "$runner" check "$work/cross/host" --tile "$tile"
else
  grep -q "set KAON_PTXAS" "$work/log" || { fail "compiling for sm_90"; cat "$work/log"; }
  echo "not run: no ptxas"
fi

echo "== an edited kernel makes the results stale; a comment does not"
cp "$source_dir/pretuned/softmax/softmax.tile" "$tile"
echo "// a comment" >> "$tile"
expect 0 "up to date" "$runner" check "$results" --tile "$tile"
sed 's/kernel softmax/fn unused(v) { return v; }\nkernel softmax/' "$tile" > "$work/edited.tile"
expect 1 "stale" "$runner" check "$results" --tile "$work/edited.tile"

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
