// Forward dataflow of accesses that no barrier has ordered yet.
#include "compiler/passes/place_barriers.h"

#include <memory>
#include <set>
#include <utility>

namespace kaon::compiler {

namespace {

/// Buffers that have been written or read since the last barrier on some path.
struct Pending {
  std::set<int64_t> written;
  std::set<int64_t> read;

  void merge(const Pending& other) {
    written.insert(other.written.begin(), other.written.end());
    read.insert(other.read.begin(), other.read.end());
  }
  friend bool operator==(const Pending& a, const Pending& b) { return a.written == b.written && a.read == b.read; }
};

bool needs_barrier(const Op& op, const Pending& pending) {
  const int64_t buffer = op.int_attr("buffer");
  if (op.kind == OpKind::kSharedLoad) return pending.written.count(buffer) > 0;
  if (op.kind == OpKind::kSharedStore) return pending.written.count(buffer) > 0 || pending.read.count(buffer) > 0;
  return false;
}

void note_access(const Op& op, Pending* pending) {
  if (op.kind == OpKind::kSharedLoad) pending->read.insert(op.int_attr("buffer"));
  if (op.kind == OpKind::kSharedStore) pending->written.insert(op.int_attr("buffer"));
}

/// What is pending behind `region` when `pending` is before it; inserts the barriers that this asks for.
Pending place(Region* region, Pending pending);

/// A loop's body also follows itself. Barriers once inserted stay, so pending accesses only shrink from round to round.
Pending place_loop(Region* body, const Pending& before) {
  Pending entry = before;
  while (true) {
    const Pending after = place(body, entry);
    Pending next = before;
    next.merge(after);
    if (next == entry) break;
    entry = std::move(next);
  }
  return entry;  // the loop may run no time at all
}

Pending place(Region* region, Pending pending) {
  for (size_t i = 0; i < region->ops.size(); ++i) {
    Op& op = *region->ops[i];
    if (op.kind == OpKind::kBarrier) {
      pending = Pending();
    } else if (op.kind == OpKind::kLoop) {
      pending = place_loop(&op.regions[0], pending);
    } else if (op.kind == OpKind::kIf) {
      Pending joined = place(&op.regions[0], pending);
      joined.merge(place(&op.regions[1], pending));
      pending = std::move(joined);
    } else if (op.kind == OpKind::kGrid) {
      pending = place(&op.regions[0], Pending());
    } else {
      if (needs_barrier(op, pending)) {
        auto barrier = std::make_unique<Op>();
        barrier->kind = OpKind::kBarrier;
        barrier->range = op.range;
        region->ops.insert(region->ops.begin() + static_cast<ptrdiff_t>(i), std::move(barrier));
        pending = Pending();
        ++i;
      }
      note_access(*region->ops[i], &pending);
    }
  }
  return pending;
}

}  // namespace

Status place_barriers(Kernel& kernel, const Target&) {
  place(&kernel.body, Pending());
  return Status::ok();
}

}  // namespace kaon::compiler
