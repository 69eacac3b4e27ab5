// How a `while` is made: its test and its body are filled one after the other, like the branches of an `if`.
#pragma once

#include <vector>

#include "compiler/ir/builder.h"

namespace kaon::compiler {

/// Inserts a `while` that carries `inits` and moves the builder into its test. The builder must outlive it.
class WhileBuilder {
 public:
  WhileBuilder(Builder& builder, const std::vector<ValueId>& inits)
      : builder_(builder), op_(builder.insert(OpKind::kWhile, inits)), region_(&builder.region()) {
    position_ = builder.position();
    op_.regions.resize(2);
    Kernel& kernel = builder.kernel();
    for (ValueId init : inits) {
      for (Region& region : op_.regions) region.args.push_back(kernel.new_value(Type(kernel.type(init))));
      op_.results.push_back(kernel.new_value(Type(kernel.type(init))));
    }
    builder.set_insertion(op_.regions[0], 0);
  }

  Op& op() { return op_; }
  const std::vector<ValueId>& test_args() const { return op_.regions[0].args; }
  const std::vector<ValueId>& body_args() const { return op_.regions[1].args; }
  /// Ends the test with the scalar bool `condition` and begins the body.
  void begin_body(ValueId condition) {
    builder_.insert(OpKind::kYield, {condition});
    builder_.set_insertion(op_.regions[1], 0);
  }
  /// Ends the body with the values of the next turn and moves behind the op.
  void end(const std::vector<ValueId>& yields) {
    if (!yields.empty()) builder_.insert(OpKind::kYield, yields);
    builder_.set_insertion(*region_, position_);
  }

 private:
  Builder& builder_;
  Op& op_;
  Region* region_;
  size_t position_ = 0;
};

}  // namespace kaon::compiler
