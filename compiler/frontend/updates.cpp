// out[m, n] += v: elements of an output that become a function of themselves and a value.
#include "compiler/ir/updates.h"
#include "compiler/frontend/kernel_builder.h"

namespace kaon::compiler {
namespace {

using ast::TokenKind;

/// What does the same where several programs meet; empty where nothing does.
std::string atomic_for(TokenKind assignment) {
  switch (assignment) {
    case TokenKind::kPlusEqual: return "atomic_add(...)";
    case TokenKind::kMinusEqual: return "atomic_add(...) of the negated value";
    case TokenKind::kAmpEqual: return "atomic_and(...)";
    case TokenKind::kPipeEqual: return "atomic_or(...)";
    case TokenKind::kCaretEqual: return "atomic_xor(...)";
    default: return "";
  }
}

}  // namespace

std::optional<BinaryFn> KernelBuilder::update_function(const ast::Statement& statement, const TensorParam& param) {
  const BinaryFn fn = assigned_function(statement.op, dtype_is_float(param.dtype));
  const std::string expected = why_illegal_operand(fn, param.dtype);
  if (expected.empty()) return fn;
  fail(statement.op_range,
       token_kind_text(statement.op) + " takes " + expected + ", and `" + param.name + "` holds " +
           dtype_name(param.dtype),
       {{facts_.places[param.name], param.name + " is declared here"}});
  return std::nullopt;
}

/// An element is updated by one program and once, and is something before.
void KernelBuilder::check_update(const ast::Statement& statement, const Op& op) {
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
  const std::vector<Note> notes = {{facts_.places[param.name], param.name + " is declared here"}};
  const std::string atomic = atomic_for(statement.op);
  const std::string mend = atomic.empty() ? "" : "use " + atomic + ", or ";
  for (const Indexer& indexer : op.index_attr("index")) {
    if (indexer.kind != Indexer::Kind::kTile) continue;
    fail(statement.target->range,
         "an index tile may name an element of `" + param.name + "` twice, which an update changes once; " +
             (atomic.empty() ? "load such elements of an input and store the results" : "use " + atomic),
         notes);
    return;
  }
  for (const AxisId axis : grid_axes_) {
    if (is_apart_along(kernel_, op, axis)) continue;
    const std::string& name = kernel_.axis(axis).name;
    fail(statement.target->range,
         "tiles of " + name + " run at the same time and would update the same elements of `" + param.name + "`; " +
             mend + "address it by " + name + ", or loop over " + name + " inside the outermost loop",
         notes);
    return;
  }
  if (param.is_zeroed || !param.aliases.empty()) return;
  for (const Op* earlier : stores_) {
    if (earlier->int_attr("tensor") == op.int_attr("tensor") && covers(kernel_, *earlier, op)) return;
  }
  fail(statement.target->range,
       "`" + param.name +
           "` holds nothing here that could be updated; declare it with `= 0` or with `alias`, or store to the same "
           "place before, in this block or one around it",
       notes);
}

}  // namespace kaon::compiler
