// Capacities from guards, wave edges by bisection of grid expressions.
#include "heuristics/landmarks.h"

#include <algorithm>
#include <set>

namespace kaon::heuristics {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 40;

// The largest value of `slot` for which the grid has at most `limit` blocks; -1 when the grid depends on other slots,
// or not on this one.
int64_t largest_size(const Expr& programs, int slot, int num_slots, int64_t limit) {
  bool reads = false;
  for (const ExprStep& step : programs.steps()) {
    if (step.op != ExprOp::kSlot) continue;
    if (step.operand != slot) return -1;
    reads = true;
  }
  if (!reads) return -1;
  std::vector<int64_t> slots(static_cast<size_t>(num_slots), 1);
  auto fits = [&](int64_t size) {
    slots[static_cast<size_t>(slot)] = size;
    return programs.evaluate(slots.data()) <= limit;
  };
  if (!fits(1) || fits(kLargestSize)) return -1;
  int64_t low = 1, high = kLargestSize;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

int resident_blocks(const DeviceFacts& device, const VariantInfo& variant, const Resources& resources) {
  int64_t blocks = 32;
  const int64_t threads = std::max<int64_t>(variant.plan.threads, 1);
  if (device.max_threads_per_sm > 0) blocks = std::min(blocks, device.max_threads_per_sm / threads);
  if (device.registers_per_sm > 0 && resources.registers > 0) {
    blocks = std::min<int64_t>(blocks, device.registers_per_sm / (resources.registers * threads));
  }
  const int64_t shared = std::max<int64_t>(variant.plan.shared_bytes, variant.requirements.shared_bytes);
  if (device.shared_bytes_per_sm > 0 && shared > 0) blocks = std::min(blocks, device.shared_bytes_per_sm / shared);
  return static_cast<int>(std::max<int64_t>(blocks, 1));
}

std::vector<int64_t> landmarks(const DeviceFacts& device, const Table& table, const std::vector<int32_t>& kept,
                               const TreeFeature& feature) {
  const std::vector<ExprStep>& steps = feature.value.steps();
  if (steps.size() != 1 || steps[0].op != ExprOp::kSlot) return {};
  const int slot = static_cast<int>(steps[0].operand);
  std::set<int64_t> values;
  for (int32_t config : kept) {
    const ConfigRow& row = table.configs[config];
    for (const Guard& guard : row.variant.guards) {
      if (guard.kind == GuardKind::kAtMost && guard.slot == slot) values.insert(guard.value);
    }
    const int64_t wave = int64_t{device.sm_count} * resident_blocks(device, row.variant, row.resources);
    for (int64_t waves : {1, 2}) {
      const int64_t size = largest_size(row.variant.plan.programs, slot, table.signature.num_slots(), waves * wave);
      if (wave > 0 && size > 0) values.insert(size);
    }
  }
  return {values.begin(), values.end()};
}

}  // namespace kaon::heuristics
