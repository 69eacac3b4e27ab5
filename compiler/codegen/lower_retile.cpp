// Views between axes of one tile size: the registers stay, what changes is which lanes exist.
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

void Lowering::lower_retile(const Op& op) { define(op.result(), registers(op.operands[0])); }

void Lowering::lower_merge(const Op& op) {
  const Registers& before = registers(op.operands[0]);
  const Registers& after = registers(op.operands[1]);
  const Registers exists = existence(kernel_.type(op.operands[1]), kernel_.layout(op.operands[1]));
  Registers merged;
  for (size_t i = 0; i < before.size(); ++i) {
    merged.push_back(exists[i] == nullptr ? after[i] : b_.CreateSelect(exists[i], after[i], before[i]));
  }
  define(op.result(), std::move(merged));
}

}  // namespace kaon::compiler::codegen
