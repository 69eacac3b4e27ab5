#!/usr/bin/env bash
# A checked pack takes the place of a program's own, and its kernel stops where an assert fails or an index is out of range.
# Usage: checked_test.sh AOT_RUNNER SERVE_DEMO SOURCE_DIR
set -u
runner=$1 demo=$2 source_dir=$3
work=$(mktemp -d /tmp/kaon_checked_XXXXXX)
trap 'rm -rf "$work"' EXIT
export KAON_CACHE_DIR=$work/cache
unset KAON_EFFORT KAON_BUDGET_SECONDS KAON_SKIP_CACHE KAON_FORCE_AUTOTUNE KAON_ASSERT_CACHE_HIT KAON_HEURISTIC_DIR
fail() { echo "FAILED: $*"; cat "$work/log"; exit 1; }

# The demo's softmax with two mistakes: rows beyond the third fail an assert, rows of more than 1000 elements an index.
sed 's|^    let e = |    assert(m.begin < 3, "few rows");\n    let last = i64(where(N < 1000, N - 1, N));\n    let tail = f32(x[m, last]);\n&|' \
  "$source_dir/pretuned/softmax/softmax.tile" > "$work/softmax.tile"
sed -i 's|T(e / sum(e, dim=1, keepdim=true))|T(e / sum(e, dim=1, keepdim=true) + 0 * tail[:, None])|' "$work/softmax.tile"
echo '{"train": [[1, 64], [2, 127], [1, 512]], "held_out": [[3, 128]]}' > "$work/shapes.json"
tune() { "$runner" tune "$work/softmax.tile" --device host --effort none --dtypes f32 --shapes "$work/shapes.json" "$@" > "$work/log" 2>&1; }
tune --checked || fail "the tuning run"
grep -q "KAON_HEURISTIC_DIR=$work/checked/host" "$work/log" || fail "not said how to use the pack"
"$runner" check "$work/checked/host" --tile "$work/softmax.tile" > "$work/log" 2>&1 || fail "check"
tune || fail "the tuning run without checks"
cmp -s "$work/checked/host/softmax_host.kpack" "$work/host/softmax_host.kpack" && fail "the checked pack is as the other"

stops() {  # stops TEXT: the demo fails and says TEXT
  KAON_HEURISTIC_DIR=$work/checked/host "$demo" > "$work/log" 2>&1 && fail "nothing stopped"
  grep -q "$1" "$work/log" || fail "no \"$1\""
}
line=$(grep -n "assert(" "$work/softmax.tile" | cut -d: -f1)
stops "softmax.tile:$line:5: assert failed: few rows"
sed -i 's|assert(m.begin < 3|assert(m.begin < 1000|' "$work/softmax.tile"
"$runner" check "$work/checked/host" --tile "$work/softmax.tile" > "$work/log" 2>&1 && fail "a stale checked pack passes"
tune --checked || fail "the second tuning run"
stops "softmax.tile:$((line + 2)):[0-9]*: index out of range: dimension 1 of x, which has extent N"
echo "checked: ok"
