// The types of a reduction's intermediate results, and the identities and combining ops of its function.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Type and layout of a value whose dims have been folded over some hardware: what is left of a folded dim is a static
/// axis of partial results, or a unit axis.
struct PartialTile {
  Type type;
  Layout layout;
};

/// Makes static axes for partial results; results of the same axis and digits share one, so that they can be combined.
class PartialAxes {
 public:
  explicit PartialAxes(Kernel& kernel) : kernel_(kernel) {}
  /// `value` with the digits of `dims` in `where` dropped.
  PartialTile fold(ValueId value, const std::vector<int64_t>& dims, Where where);
  /// The static axis of `count` partial results along `source`, held in `digits`.
  AxisId axis(AxisId source, const std::vector<Digit>& digits);

 private:
  Kernel& kernel_;
  std::map<std::pair<AxisId, std::string>, AxisId> known_;
};

/// A splat of the value that changes no result of `fn`.
ValueId identity_const(Builder& builder, ReduceFn fn, const PartialTile& like);
/// The op that combines two results of `fn`.
BinaryFn combining_fn(ReduceFn fn);

}  // namespace kaon::compiler
