// Placing the operands of a dot in shared memory.
#include "compiler/passes/stage_dots.h"

#include <string>
#include <utility>

#include "compiler/config/dot_plan.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/dot_rules.h"

namespace kaon::compiler {

namespace {

/// Stores `value`, whose dim `summed` is the one that products are summed along, in a buffer of its own.
int64_t store_operand(Kernel& kernel, Builder& builder, ValueId value, int summed, std::vector<int64_t>* strides) {
  DotBuffer plan = plan_dot_buffer(kernel.layout(value), kernel.type(value).dtype);
  const auto index = static_cast<int>(kernel.shared_buffers.size());
  SharedBuffer buffer;
  buffer.name = "dot" + std::to_string(index);
  buffer.bytes = static_cast<uint32_t>(plan.bytes);
  kernel.shared_buffers.push_back(std::move(buffer));
  Op& store = builder.shared_store(index, value);
  store.set_attr("strides", plan.strides);
  store.set_attr("zero", std::vector<int64_t>{summed});
  *strides = std::move(plan.strides);
  return index;
}

}  // namespace

void stage_dot(Kernel& kernel, Region& region, const Op& op) {
  Builder builder(kernel, region);
  builder.set_range(op.range);
  const int rank = kernel.type(op.result()).rank();
  std::vector<int64_t> a_strides, b_strides;
  const int64_t a = store_operand(kernel, builder, op.operands[0], rank - 1, &a_strides);
  const int64_t b = store_operand(kernel, builder, op.operands[1], rank - 2, &b_strides);
  const std::vector<ValueId> accumulator(op.operands.begin() + 2, op.operands.end());
  Op& dot = builder.insert(OpKind::kDotShared, accumulator);
  dot.set_attr("a", a);
  dot.set_attr("b", b);
  dot.set_attr("dtype", std::string(dtype_name(kernel.type(op.operands[0]).dtype)));
  dot.set_attr("axis", static_cast<int64_t>(dot_axis(kernel, op)));
  dot.set_attr("a_strides", a_strides);
  dot.set_attr("b_strides", b_strides);
  dot.results = {op.result()};
}

}  // namespace kaon::compiler
