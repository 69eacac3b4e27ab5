#!/usr/bin/env bash
# What the tools carry through a tuning run on the CPU target: dimensions that are compiled for fixed values, bodies that a
# knob chooses, and outputs that are changed where they are.
set -u
runner=$1
work=$(mktemp -d /tmp/kaon_e2e_XXXXXX)
trap 'rm -rf "$work"' EXIT
export KAON_CACHE_DIR=$work/cache
unset KAON_EFFORT KAON_BUDGET_SECONDS KAON_SKIP_CACHE KAON_FORCE_AUTOTUNE KAON_ASSERT_CACHE_HIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
cat > "$work/pairs.tile" <<'TILE'
kernel pairs(x: f32[M, N], tunable PARTS: i64 in (1, 2)) -> (out: f32[M, N / 2]) specialize N in (16, 40) {
  for m in tile(M) {
    var acc = zeros(f32, m, N / 2);
    for p in static_range(PARTS) {
      acc += sum(x[m, :].reshape(m, N / 2, 2), dim=2) / f32(PARTS);
    }
    out[m, :] = acc;
  }
}
TILE
cat > "$work/shapes.json" <<'JSON'
{"train": [{"M": [1, 8, 33], "N": [16, 40]}], "held_out": [[5, 16], [7, 40]]}
JSON
run=("$runner" tune "$work/pairs.tile" --device host --effort quick --search random --trials 6 --out "$work/out" --shapes)
"${run[@]}" "$work/shapes.json" > "$work/log" 2>&1 || { fail "the tuning run"; cat "$work/log"; }
results=$work/out/host
grep -q "tree of pairs f32\|tree of pairs N=16" "$work/log" || { fail "no tree of N=16"; cat "$work/log"; }
grep -q "0 failed" "$work/log" || { fail "a variant was wrong"; cat "$work/log"; }
grep -q "N <= 16" "$results/pairs_host.gen.cpp" || fail "select() does not ask for N"
for value in 16 40; do
  "$runner" explain --from "$results" --shape "9x$value" > "$work/log" 2>&1 || fail "explain of N=$value"
  grep -q -- "-> variant .*const.N=$value" "$work/log" || { fail "no variant of N=$value"; cat "$work/log"; }
done
"$runner" explain --from "$results" --shape 9x24 > "$work/log" 2>&1 && fail "N=24 is explained"
grep -q "N == 16 does not hold, N is 24" "$work/log" || { fail "not said why N=24 is not served"; cat "$work/log"; }
"$runner" check "$results" --tile "$work/pairs.tile" > /dev/null || fail "check"
"$runner" emit --from "$results" --out "$work/emitted" > /dev/null || fail "emit"
diff -r "$results" "$work/emitted" || fail "emit gives other bytes"

expect() {  # expect TEXT SHAPES
  echo "$2" > "$work/bad.json"
  "${run[@]}" "$work/bad.json" > "$work/log" 2>&1 && fail "no error from $2"
  grep -qF -- "$1" "$work/log" || { fail "no \"$1\""; cat "$work/log"; }
}
expect 'shape 8x24 (MxN): kernel pairs is compiled for N in (16, 40); add the value to its `specialize`, or leave' '{"train": [[8, 16], [8, 24]]}'
expect 'no train shape for pairs N=40; add some' '{"train": [[8, 16]]}'
expect 'kernel pairs is compiled for N in (16, 40), got 24' '{"train": [[8, 24]], "constants": {"N": 24}}'

# A running sum begins as the caller's memory, in a tensor of its own or in that of its input.
cat > "$work/sums.tile" <<'TILE'
kernel sums(before: f32[N], x: f32[M, N]) -> (total: f32[N] alias before) {
  for n in tile(N) {
    for m in tile(M) { total[n] += sum(x[m, n], dim=0); }
  }
}
TILE
echo '{"train": [{"M": [1, 9, 40], "N": [33, 64]}]}' > "$work/shapes.json"
"$runner" tune "$work/sums.tile" --device host --search random --trials 4 --shapes "$work/shapes.json" --out "$work/sums" > "$work/log" 2>&1 ||
  { fail "tuning an update"; cat "$work/log"; }
grep -q " 0 failed" "$work/log" || { fail "an update was wrong"; cat "$work/log"; }
[ "$failures" -eq 0 ] && echo "all well"
exit "$failures"
