// Forward dataflow of accesses that no barrier has ordered yet.
#include "compiler/passes/place_barriers.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "compiler/passes/store_order.h"

namespace kaon::compiler {

namespace {

/// Buffers that have been written (in which layouts) or read since the last barrier on some path, and stores that
/// others may have to wait for.
struct Pending {
  std::map<int64_t, std::set<std::string>> written;
  std::set<const Op*> stored;
  std::set<int64_t> read;

  void merge(const Pending& other) {
    for (const auto& [buffer, layouts] : other.written) written[buffer].insert(layouts.begin(), layouts.end());
    stored.insert(other.stored.begin(), other.stored.end());
    read.insert(other.read.begin(), other.read.end());
  }
  friend bool operator==(const Pending& a, const Pending& b) {
    return a.written == b.written && a.stored == b.stored && a.read == b.read;
  }
};

/// Follows the accesses of a region tree. Where one needs a barrier, it inserts one, or only notes that one is missing.
class Follower {
 public:
  Follower(const Kernel& kernel, const StoreOrder& order, bool inserts)
      : kernel_(kernel), order_(order), inserts_(inserts) {}
  bool found_missing() const { return found_missing_; }

  /// What is pending behind `region` when `pending` is before it.
  Pending follow(Region* region, Pending pending) {
    for (size_t i = 0; i < region->ops.size(); ++i) {
      Op& op = *region->ops[i];
      if (op.kind == OpKind::kBarrier) {
        pending = Pending();
      } else if (op.kind == OpKind::kLoop) {
        pending = follow_loop(nullptr, &op.regions[0], pending);
      } else if (op.kind == OpKind::kWhile) {
        pending = follow_loop(&op.regions[0], &op.regions[1], pending);
      } else if (op.kind == OpKind::kIf) {
        Pending joined = follow(&op.regions[0], pending);
        joined.merge(follow(&op.regions[1], pending));
        pending = std::move(joined);
      } else if (op.kind == OpKind::kGrid) {
        pending = follow(&op.regions[0], Pending());
      } else {
        if (needs_barrier(op, pending)) {
          found_missing_ = true;
          pending = Pending();
          if (inserts_) insert_barrier(region, i++);
        }
        note_access(op, &pending);
      }
    }
    return pending;
  }

 private:
  bool needs_barrier(const Op& op, const Pending& pending) const {
    const int64_t buffer = op.int_attr("buffer");
    const auto written = pending.written.find(buffer);
    if (op.kind == OpKind::kSharedLoad) return written != pending.written.end();
    if (op.kind == OpKind::kDotShared) {
      return pending.written.count(op.int_attr("a")) > 0 || pending.written.count(op.int_attr("b")) > 0;
    }
    if (op.kind == OpKind::kStore) {
      return std::any_of(pending.stored.begin(), pending.stored.end(),
                         [&](const Op* earlier) { return order_.must_wait(*earlier, op); });
    }
    if (op.kind != OpKind::kSharedStore) return false;
    if (pending.read.count(buffer) > 0) return true;
    // Two writes in one layout are each element's owner writing twice.
    return written != pending.written.end() && written->second != std::set<std::string>{layout_text(op)};
  }

  void note_access(const Op& op, Pending* pending) const {
    if (op.kind == OpKind::kSharedLoad) pending->read.insert(op.int_attr("buffer"));
    if (op.kind == OpKind::kDotShared) pending->read.insert({op.int_attr("a"), op.int_attr("b")});
    if (order_.is_ordered(op)) pending->stored.insert(&op);
    if (op.kind == OpKind::kSharedStore) pending->written[op.int_attr("buffer")].insert(layout_text(op));
  }

  /// Stores by strides are the parts of one array, which do not overlap.
  std::string layout_text(const Op& store) const {
    return store.find_attr("strides") ? "parts" : kernel_.layout(store.operands[0]).to_string();
  }

  /// A loop's body also follows itself, and may run no time at all; a `while` tests before each turn and once more.
  /// Inserted barriers stay, so this ends.
  Pending follow_loop(Region* test, Region* body, const Pending& before) {
    Pending entry = before;
    while (true) {
      const Pending tested = test == nullptr ? entry : follow(test, entry);
      Pending next = before;
      next.merge(follow(body, tested));
      if (next == entry) return tested;
      entry = std::move(next);
    }
  }

  static void insert_barrier(Region* region, size_t index) {
    auto barrier = std::make_unique<Op>();
    barrier->kind = OpKind::kBarrier;
    barrier->range = region->ops[index]->range;
    region->ops.insert(region->ops.begin() + static_cast<ptrdiff_t>(index), std::move(barrier));
  }

  const Kernel& kernel_;
  const StoreOrder& order_;
  bool inserts_;
  bool found_missing_ = false;
};

/// Takes out each barrier that later ones have made unnecessary: those of a loop's first round, before its end was
/// known.
void prune(Kernel& kernel, const StoreOrder& order, Region* region) {
  for (size_t i = 0; i < region->ops.size(); ++i) {
    for (Region& inner : region->ops[i]->regions) prune(kernel, order, &inner);
    if (region->ops[i]->kind != OpKind::kBarrier) continue;
    std::unique_ptr<Op> barrier = std::move(region->ops[i]);
    region->ops.erase(region->ops.begin() + static_cast<ptrdiff_t>(i));
    Follower check(kernel, order, /*inserts=*/false);
    check.follow(&kernel.body, Pending());
    if (check.found_missing()) {
      region->ops.insert(region->ops.begin() + static_cast<ptrdiff_t>(i), std::move(barrier));
    } else {
      --i;
    }
  }
}

}  // namespace

Status place_barriers(Kernel& kernel, const Target&) {
  const StoreOrder order(kernel);
  Follower(kernel, order, /*inserts=*/true).follow(&kernel.body, Pending());
  prune(kernel, order, &kernel.body);
  return Status::ok();
}

}  // namespace kaon::compiler
