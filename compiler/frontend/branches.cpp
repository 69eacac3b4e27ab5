// `if` and `while`: regions that run by a condition, and the variables that they change.
#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/while_builder.h"

namespace kaon::compiler {
/// One bool, the same for all lanes; nothing after an error, which was reported.
std::optional<Value> KernelBuilder::condition(const ast::Statement& statement) {
  const char* keyword = statement.kind == ast::StatementKind::kIf ? "if" : "while";
  const ast::Expression& node = *statement.value;
  Value value = expression(node);
  if (value.is_error() || !require_number({value, &node})) return std::nullopt;
  const Type& type = type_of(value);
  if (value.is_literal() || type.dtype != DType::kBool) {
    fail(node.range,
         "`" + std::string(keyword) + "` takes a bool, got " + describe(value) + "; compare first, as in n > 0");
    return std::nullopt;
  }
  if (!type.is_scalar()) {
    fail(node.range, "`" + std::string(keyword) + "` takes one bool for the whole tile, got " + describe(value) +
                         "; choose lane by lane with where(condition, a, b)");
    return std::nullopt;
  }
  return value;
}

bool KernelBuilder::carried_values(const std::vector<std::string>& carried, std::vector<ValueId>* values) {
  for (const std::string& name : carried) {
    const Binding& variable = *find(name);
    if (variable.value.is_error()) return false;
    values->push_back(variable.value.id);
  }
  return true;
}

void KernelBuilder::set_carried(const std::vector<std::string>& carried, const std::vector<ValueId>& values) {
  for (size_t i = 0; i < carried.size(); ++i) {
    kernel_.values[static_cast<size_t>(values[i])].name = carried[i];
    find(carried[i])->value = Value::typed(values[i]);
  }
}

/// The body of a region that is open, in a scope of its own, and what its variables are at its end.
void KernelBuilder::branch(const std::vector<ast::Statement>& body, const std::vector<std::string>& carried,
                           std::vector<ValueId>* yields) {
  const size_t num_stores = stores_.size();
  host_values_.emplace_back();
  push_scope();
  statements(body);
  pop_scope();
  host_values_.pop_back();
  stores_.resize(num_stores);
  carried_values(carried, yields);
}

void KernelBuilder::if_statement(const ast::Statement& statement) {
  const std::optional<Value> value = condition(statement);
  if (!value) return;
  if (value->truth) {  // decided now: the other branch is not built
    mark_used(*value->truth ? statement.else_body : statement.body);
    push_scope();
    statements(*value->truth ? statement.body : statement.else_body);
    pop_scope();
    return;
  }
  if (loop_depth_ == 0) {
    fail(statement.range,
         "an `if` outside the tile loop needs a condition of constants; put it inside the loop, or choose between "
         "values with where(condition, a, b)");
    return;
  }
  const std::vector<std::string> carried = carried_variables(statement);
  std::vector<ValueId> before;
  if (!carried_values(carried, &before)) return;
  std::vector<Type> types;
  for (ValueId id : before) types.push_back(kernel_.type(id));
  builder_.set_range(statement.range);
  Op& op = builder_.begin_if(value->id, types);
  std::vector<ValueId> yields;
  branch(statement.body, carried, &yields);
  builder_.set_range(statement.range);
  builder_.begin_else(yields);
  set_carried(carried, before);
  yields.clear();
  branch(statement.else_body, carried, &yields);
  builder_.set_range(statement.range);
  builder_.end(yields);
  set_carried(carried, op.results);
}

void KernelBuilder::while_statement(const ast::Statement& statement) {
  if (loop_depth_ == 0) {
    fail(statement.range, "a `while` stands inside the tile loop, whose tiles are what the GPU's blocks work on");
    return;
  }
  const std::vector<std::string> carried = carried_variables(statement);
  std::vector<ValueId> inits;
  if (!carried_values(carried, &inits)) return;
  builder_.set_range(statement.range);
  WhileBuilder loop(builder_, inits);
  host_values_.emplace_back();
  set_carried(carried, loop.test_args());
  const std::optional<Value> value = condition(statement);
  host_values_.pop_back();
  if (value && value->truth) {
    fail(statement.value->range, std::string("this condition is always ") + (*value->truth ? "true" : "false") +
                                     (*value->truth ? "; a `while` ends by a variable that its body assigns" : ""));
  } else if (value && carried.empty()) {
    fail(statement.value->range, "nothing that the body assigns could end this `while`; declare a `var` before it");
  }
  loop.begin_body(value ? value->id : kNoValue);
  set_carried(carried, loop.body_args());
  std::vector<ValueId> yields;
  branch(statement.body, carried, &yields);
  builder_.set_range(statement.range);
  loop.end(yields);
  set_carried(carried, loop.op().results);
}

/// What a branch that is not built would read is no mistake of its author.
void KernelBuilder::mark_used(const std::vector<ast::Statement>& body) {
  for (const ast::Statement& statement : body) {
    mark_used(statement.target.get());
    mark_used(statement.value.get());
    mark_used(statement.body);
    mark_used(statement.else_body);
  }
}

void KernelBuilder::mark_used(const ast::Expression* node) {
  if (node == nullptr) return;
  if (node->kind == ast::ExpressionKind::kName) {
    if (Binding* binding = find(node->text)) binding->used = true;
  }
  for (const ast::ExpressionPtr& child : node->children) mark_used(child.get());
  for (const ast::NamedArgument& argument : node->named) mark_used(argument.value.get());
}

}  // namespace kaon::compiler
