// Computes a part of a value by itself: the ops that made the whole, on the part of their operands.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// The coordinates [begin, begin + extent of axis) of some axis; begin is a constant plus a scalar if there is one.
struct Part {
  AxisId axis = kUnitAxis;
  int64_t begin = 0;
  ValueId begin_value = kNoValue;
  friend bool operator==(const Part& a, const Part& b) {
    return a.axis == b.axis && a.begin == b.begin && a.begin_value == b.begin_value;
  }
};

class PartEmitter {
 public:
  explicit PartEmitter(Kernel& kernel);

  /// Parts made inside a region are good there only: enter() and leave() bracket one. note() tells of each op that
  /// stands.
  void enter();
  void leave();
  void note(const Op& op);

  const Op* definition(ValueId value) const;

  /// Whether every op behind `value` can be repeated on a part along `dim`, down to loads.
  bool can_cut(ValueId value, size_t dim) const;
  ValueId cut(Builder& builder, ValueId value, size_t dim, const Part& part);

  /// Where dim `dim` of the operands of a lane-by-lane op or reduction is in its result.
  size_t result_dim(const Op& op, size_t dim) const;
  /// The lane-by-lane op on parts of its operands; `part` is its result's along `dim`.
  ValueId repeat(Builder& builder, const Op& op, std::vector<ValueId> operands, size_t dim, const Part& part);
  ValueId reduce_part(Builder& builder, const Op& op, ValueId part);
  void store_part(Builder& builder, const Op& op, ValueId value, AxisId whole, const Part& part);

 private:
  bool can_cut_load(const Op& op, size_t dim) const;
  /// Dim of the reshape's operand that becomes the first of a group of its result with `dim` in front; -1: none.
  int regrouped_dim(const Op& op, size_t dim) const;
  /// Dim of the operand that is dim `dim` of the op's result.
  size_t operand_dim(const Op& op, size_t dim) const;
  ValueId cut_load(Builder& builder, const Op& op, size_t dim, const Part& part);
  ValueId cut_reshape(Builder& builder, const Op& op, size_t dim, const Part& part);
  ValueId cut_index(Builder& builder, const Part& part);
  ValueId emit(Builder& builder, const Op& op, size_t dim, const Part& part);
  ValueId begin_of(Builder& builder, const Part& part, ValueId added);
  std::vector<Indexer> moved_index(Builder& builder, const Op& op, AxisId whole, const Part& part,
                                   std::vector<ValueId>* operands);

  Kernel& kernel_;
  std::map<ValueId, const Op*> definitions_;
  std::map<ValueId, int> regions_;  // of the op that defines a value
  std::vector<int> open_;           // regions around, innermost last
  int num_regions_ = 0;
  bool has_stored_ = false;
  using Key = std::tuple<ValueId, size_t, AxisId, int64_t, ValueId>;
  std::vector<std::map<Key, ValueId>> known_;
};

}  // namespace kaon::compiler
