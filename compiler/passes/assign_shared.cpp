// First-fit placement of buffers by lifetime.
#include "compiler/passes/assign_shared.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

constexpr uint32_t kAlignment = 16;

/// First and last step of a program in which a buffer is alive; steps count barriers that every thread passes.
struct Lifetime {
  int64_t first = -1;
  int64_t last = -1;
  void touch(int64_t step) {
    if (first < 0) first = step;
    last = step;
  }
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

/// Only barriers directly in the grid's region separate lifetimes: what a loop or branch touches counts as one step
/// there.
std::vector<Lifetime> find_lifetimes(const Kernel& kernel) {
  std::vector<Lifetime> lifetimes(kernel.shared_buffers.size());
  int64_t step = 0;
  auto touch = [&](const Op& op) {
    const auto use = [&](const char* name) { lifetimes[static_cast<size_t>(op.int_attr(name))].touch(step); };
    if (op.kind == OpKind::kSharedLoad || op.kind == OpKind::kSharedStore) use("buffer");
    if (op.kind != OpKind::kDotShared) return;
    use("a");
    use("b");
  };
  std::function<void(const Region&)> scan = [&](const Region& region) {
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::kGrid) {
        scan(op->regions[0]);
        continue;
      }
      if (op->kind == OpKind::kBarrier) ++step;
      touch(*op);
      for (const Region& inner : op->regions) {
        walk(inner, [&](const Op& nested, const ConstOpPlace&) { touch(nested); });
      }
    }
  };
  scan(kernel.body);
  return lifetimes;
}

uint32_t aligned(uint32_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Status assign_shared(Kernel& kernel, const Target&) {
  const std::vector<Lifetime> lifetimes = find_lifetimes(kernel);
  std::vector<SharedBuffer>& buffers = kernel.shared_buffers;
  uint32_t total = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    // Candidates are the start and the ends of earlier buffers; the lowest that hits no living one is taken.
    std::vector<uint32_t> candidates{0};
    for (size_t j = 0; j < i; ++j) candidates.push_back(aligned(buffers[j].offset + buffers[j].bytes));
    std::sort(candidates.begin(), candidates.end());
    for (const uint32_t offset : candidates) {
      const bool free =
          std::none_of(buffers.begin(), buffers.begin() + static_cast<ptrdiff_t>(i), [&](const SharedBuffer& other) {
            const auto j = static_cast<size_t>(&other - buffers.data());
            const bool apart = offset + buffers[i].bytes <= other.offset || other.offset + other.bytes <= offset;
            return lifetimes[i].overlaps(lifetimes[j]) && !apart;
          });
      if (!free) continue;
      buffers[i].offset = offset;
      break;
    }
    total = std::max(total, aligned(buffers[i].offset + buffers[i].bytes));
  }
  kernel.plan.shared_bytes = total;
  return Status::ok();
}

}  // namespace kaon::compiler
