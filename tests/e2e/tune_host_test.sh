#!/usr/bin/env bash
# A whole tuning run on the CPU target: killed three times and resumed, remade byte for byte, explained, checked, and
# every kind of broken input answered with one clear error.
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
for seconds in 1 2 3; do
  "${run[@]}" "$work/killed" > "$work/log" 2>&1 &
  pid=$!
  sleep "$seconds"
  kill -9 "$pid" 2> /dev/null && killed=$((killed + 1))
  wait "$pid" 2> /dev/null
done
[ "$killed" -ge 1 ] || fail "no kill hit a run at work"
"${run[@]}" "$work/killed" > "$work/log" 2>&1 || { fail "the resumed run"; cat "$work/log"; }
grep -q "resumed, start number" "$work/log" || fail "the resume does not say so"
grep -q "share of the oracle" "$work/log" || fail "no summary"
grep -q "if [MN]" "$work/log" || grep -q "variant 0" "$work/log" || fail "no tree"

echo "== from the same store in one go: the same bytes"
KAON_ASSERT_CACHE_HIT=1 "${run[@]}" "$work/again" > "$work/log" 2>&1 || { fail "the run from the store"; cat "$work/log"; }
diff -r "$work/killed" "$work/again" || fail "files differ"
results=$work/killed/host
"$runner" emit --from "$results" --out "$work/emitted" > /dev/null || fail "emit"
diff -r "$results" "$work/emitted" || fail "emit gives other bytes"

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
expect 1 "KAON_PTXAS" env KAON_PTXAS=/none "$runner" compile "$tile" --shapes "$work/softmax.shapes.json" --compile-for sm_90
expect 1 "errno" "${run[@]}" /proc/none
head -c 1000 "$results/softmax_host.kpack" > "$work/emitted/softmax_host.kpack"
expect 1 "softmax_host.kpack: " "$runner" emit --from "$work/emitted"
diff -r "$work/before" "$results" || fail "a failed command changed the results"

echo "== an edited kernel makes the results stale; a comment does not"
cp "$source_dir/pretuned/softmax/softmax.tile" "$tile"
echo "// a comment" >> "$tile"
expect 0 "up to date" "$runner" check "$results" --tile "$tile"
sed 's/kernel softmax/fn unused(v) { return v; }\nkernel softmax/' "$tile" > "$work/edited.tile"
expect 1 "stale" "$runner" check "$results" --tile "$work/edited.tile"

[ "$failures" -eq 0 ] && echo "all passed"
exit "$((failures > 0))"
