// Ranges of coordinates in normal form, which can be told apart.
#include "compiler/passes/store_places.h"

#include <algorithm>

#include "compiler/ir/host_value.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

using Kind = Indexer::Kind;

/// Whether a range ending at `end` is known to lie before one beginning at `begin`.
bool ends_before(const HostInt& end, const HostInt& begin) {
  const std::optional<HostInt> gap = HostInt::binary(ExprOp::kSub, begin, end);
  return gap && gap->is_natural();
}

}  // namespace

bool is_scatter(const Op& store) {
  const std::vector<Indexer>& index = store.index_attr("index");
  return std::any_of(index.begin(), index.end(), [](const Indexer& i) { return i.kind == Kind::kTile; });
}

StorePlaces::StorePlaces(const Kernel& kernel) : kernel_(kernel), definitions_(defining_ops(kernel)) {}

std::optional<HostInt> StorePlaces::begin(const Op& store, const Indexer& indexer) const {
  if (indexer.operand < 0) return HostInt(0);
  return host_value(kernel_, definitions_, store.operands[static_cast<size_t>(indexer.operand)]);
}

/// The coordinates along one dimension that a store can reach in any turn of the loops around it.
std::optional<StorePlaces::Range> StorePlaces::range(const Op& store, size_t dim) const {
  const Indexer& indexer = store.index_attr("index")[dim];
  if (indexer.kind == Kind::kTile) return std::nullopt;
  std::optional<HostInt> first = begin(store, indexer);
  std::optional<HostInt> last = HostInt(1);
  if (indexer.kind == Kind::kAxis) {
    const Axis& axis = kernel_.axis(indexer.axis);
    if (axis.extent_value != kNoValue || axis.begin_value != kNoValue) return std::nullopt;
    last = HostInt::from_expr(axis.extent, kernel_.signature);
  }
  if (!first || !last) return std::nullopt;
  last = HostInt::binary(ExprOp::kAdd, *first, *last);
  if (indexer.kind == Kind::kAxis && kernel_.axis(indexer.axis).kind == AxisKind::kTile) {
    const std::optional<HostInt> from = HostInt::from_expr(kernel_.axis(indexer.axis).begin, kernel_.signature);
    first = from ? HostInt::binary(ExprOp::kAdd, *first, *from) : std::nullopt;
  }
  if (!first || !last) return std::nullopt;
  return Range{*first, *last};
}

bool StorePlaces::are_apart(const Op& a, const Op& b) const {
  for (size_t dim = 0; dim < a.index_attr("index").size(); ++dim) {
    const std::optional<Range> one = range(a, dim);
    const std::optional<Range> other = range(b, dim);
    if (!one || !other) continue;
    if (ends_before(one->end, other->begin) || ends_before(other->end, one->begin)) return true;
  }
  return false;
}

bool StorePlaces::walk_together(const Op& a, const Op& b, size_t dim) const {
  const Indexer& one = a.index_attr("index")[dim];
  const Indexer& other = b.index_attr("index")[dim];
  if (one.kind != Kind::kAxis || other.kind != Kind::kAxis || one.axis != other.axis) return false;
  const std::optional<HostInt> from = begin(a, one);
  const std::optional<HostInt> other_from = begin(b, other);
  return from && other_from && *from == *other_from;
}

bool StorePlaces::is_still(const Op& store) const {
  const std::vector<Indexer>& index = store.index_attr("index");
  return std::all_of(index.begin(), index.end(), [&](const Indexer& indexer) {
    return indexer.kind != Kind::kAxis || begin(store, indexer).has_value();
  });
}

}  // namespace kaon::compiler
