#!/usr/bin/env bash
# Shapes recorded from a program: the file that it appends to, and a tuning run that records and then tunes for them.
# Usage: record_test.sh AOT_RUNNER SERVE_DEMO SOURCE_DIR
set -u
runner=$1 demo=$2 source_dir=$3
work=$(mktemp -d /tmp/kaon_record_XXXXXX)
trap 'rm -rf "$work"' EXIT
export KAON_CACHE_DIR=$work/cache
unset KAON_RECORD KAON_EFFORT KAON_BUDGET_SECONDS KAON_SKIP_CACHE KAON_FORCE_AUTOTUNE KAON_ASSERT_CACHE_HIT
fail() { echo "FAILED: $*"; cat "$work/log"; exit 1; }

for _ in 1 2; do KAON_RECORD=$work/calls "$demo" > "$work/log" 2>&1 & done
wait
python3 - "$work/calls" > "$work/log" 2>&1 << 'PY' || fail "two processes, one file"
import collections, json, sys
counts = collections.Counter()
for line in open(sys.argv[1]):
    call = json.loads(line)
    counts[call["kernel"], call["dtypes"], tuple(call["dims"].items())] += call["count"]
print(counts)
assert counts["softmax", "f32", (("M", 16), ("N", 127))] == 2
assert counts["vector_add", "f32", (("N", 8193),)] == 2
assert all(dims["M"] > 0 for kernel, _, dims in ((k, d, dict(s)) for k, d, s in counts) if kernel == "softmax")
PY

KAON_RECORD=/proc/none/calls "$demo" > "$work/log" 2>&1 || fail "a recording that cannot be written stops the program"

"$runner" tune "$source_dir/pretuned/softmax/softmax.tile" --device host --effort none --out "$work/out" -- "$demo" \
  > "$work/log" 2>&1 || fail "tune -- program"
python3 - "$work/out/host/measurements.json" >> "$work/log" 2>&1 << 'PY' || fail "the recorded shapes were not tuned for"
import json, sys
tables = json.load(open(sys.argv[1]))["tables"]
assert len(tables) == 1, "the program calls f32 alone"
shapes = {tuple(slots[2:4]) for _, _, slots in tables[0]["shapes"]}
assert shapes == {(1, 64), (16, 127), (7, 512), (64, 1000), (3, 2048), (2, 5000)}, shapes
PY
echo "record: ok"
