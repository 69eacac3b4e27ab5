// Scalars in normal form.
#include "compiler/ir/host_value.h"

namespace kaon::compiler {

std::optional<HostInt> host_value(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value) {
  const Op* definition = value == kNoValue ? nullptr : definitions[static_cast<size_t>(value)];
  if (definition == nullptr) return std::nullopt;
  if (definition->kind == OpKind::kExpr) {
    return HostInt::from_expr(std::get<Expr>(*definition->find_attr("expr")), kernel.signature);
  }
  if (definition->kind == OpKind::kConst) {
    const auto* constant = std::get_if<int64_t>(definition->find_attr("value"));
    if (constant != nullptr) return HostInt(*constant);
  }
  if (definition->kind != OpKind::kBinary || definition->str_attr("fn") != "add") return std::nullopt;
  const std::optional<HostInt> a = host_value(kernel, definitions, definition->operands[0]);
  const std::optional<HostInt> b = host_value(kernel, definitions, definition->operands[1]);
  return a && b ? HostInt::binary(ExprOp::kAdd, *a, *b) : std::nullopt;
}

}  // namespace kaon::compiler
