// Views whose lanes all stay in their thread: the result's registers are registers of the operands.
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

void Lowering::lower_pick(const Op& op) {
  const std::vector<int64_t>& picked = op.ints_attr("registers");
  Registers result;
  for (size_t i = 0; i + 1 < picked.size(); i += 2) {
    const ValueId operand = op.operands[static_cast<size_t>(picked[i])];
    result.push_back(registers(operand)[static_cast<size_t>(picked[i + 1])]);
  }
  define(op.result(), std::move(result));
}

}  // namespace kaon::compiler::codegen
