// Declarations, assignments, stores and tile loops.
#include <algorithm>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

using ast::StatementKind;
using ast::TokenKind;

void assigned_names(const std::vector<ast::Statement>& body, std::vector<std::string>* names) {
  for (const ast::Statement& statement : body) {
    if (statement.kind == StatementKind::kAssign && statement.target->kind == ast::ExpressionKind::kName &&
        std::find(names->begin(), names->end(), statement.target->text) == names->end()) {
      names->push_back(statement.target->text);
    }
    assigned_names(statement.body, names);
    assigned_names(statement.else_body, names);
  }
}

}  // namespace

void KernelBuilder::statements(const std::vector<ast::Statement>& body) {
  for (const ast::Statement& statement : body) one_statement(statement);
}

void KernelBuilder::one_statement(const ast::Statement& statement) {
  builder_.set_range(statement.range);
  switch (statement.kind) {
    case StatementKind::kLet:
    case StatementKind::kVar: let_statement(statement); break;
    case StatementKind::kAssign: assignment(statement); break;
    case StatementKind::kFor: for_statement(statement); break;
    case StatementKind::kIf: if_statement(statement); break;
    case StatementKind::kWhile: while_statement(statement); break;
    case StatementKind::kCall: call_statement(statement); break;
    case StatementKind::kReturn:
      fail(statement.range, calls_.empty() ? "`return` belongs in a `fn`; a kernel stores to its outputs"
                                           : "`return` stands once, as the last statement of a `fn`");
      break;
  }
}

void KernelBuilder::let_statement(const ast::Statement& statement) {
  const size_t count = statement.names.size();
  const ast::Expression& source = *statement.value;
  if (source.kind == ast::ExpressionKind::kCall && source.text == "block") return register_block(statement);
  Value value = expression(*statement.value);
  const bool keeps_tuple = value.is_tuple() && count == 1 && statement.kind == StatementKind::kLet;
  std::vector<Value> values(count, Value::error());
  if (value.is_tuple() && count == value.items.size()) {
    values = value.items;
  } else if (count == 1) {
    if (keeps_tuple || value.is_error() || require_number({value, statement.value.get()})) values[0] = value;
  } else if (!value.is_error()) {
    fail(statement.value->range,
         std::to_string(count) + " names on the left, and the value is " +
             (value.is_tuple() ? describe(value) + "; write one name for each"
                               : describe(value) + "; a tuple comes of a `fn` with several results or (a, b)"));
  }
  builder_.set_range(statement.range);
  for (size_t i = 0; i < count; ++i)
    declare_value(statement.names[i], values[i], statement.kind == StatementKind::kVar);
}

void KernelBuilder::declare_value(const ast::Name& name, Value value, bool is_var) {
  // A variable has one type for good, so a literal takes its own here: i64 or f32.
  if (is_var && value.is_number()) value = Value::typed(materialise(value));
  if (value.id != kNoValue && kernel_.values[static_cast<size_t>(value.id)].name.empty()) {
    kernel_.values[static_cast<size_t>(value.id)].name = name.text;
  }
  declare(name, std::move(value), is_var);
}

void KernelBuilder::assignment(const ast::Statement& statement) {
  const ast::Expression& target = *statement.target;
  if (target.kind == ast::ExpressionKind::kName) return assign_variable(statement);
  if (target.kind == ast::ExpressionKind::kSubscript && target.children[0]->kind == ast::ExpressionKind::kName)
    return store(statement);
  fail(target.range, "expected a variable or a subscripted output on the left of `=`");
}

void KernelBuilder::assign_variable(const ast::Statement& statement) {
  const std::string& name = statement.target->text;
  Binding* binding = find(name);
  if (binding == nullptr) {
    this->name(*statement.target);  // reports, with near misses
    return;
  }
  if (binding->value.kind == Value::Kind::kTensor) {
    fail(statement.target->range, "store to a tensor with a subscript, as in " + name + "[m, :] = ...");
    return;
  }
  if (!binding->is_var) {
    if (binding->value.is_error()) return;
    std::vector<Note> notes;
    if (binding->range.is_known()) notes.push_back({binding->range, name + " is declared here"});
    fail(statement.target->range, "`" + name + "` cannot be assigned to; declare it with `var`", notes);
    return;
  }
  Value value = expression(*statement.value);
  builder_.set_range(statement.range);
  if (statement.op != TokenKind::kEqual) {
    value = binary(operator_of(statement.op), statement.op_range, {binding->value, statement.target.get()},
                   {value, statement.value.get()});
  }
  if (value.is_error() || binding->value.is_error()) return;
  if (std::optional<ValueId> converted = to_variable_type(*binding, name, value, *statement.value)) {
    binding->value = Value::typed(*converted);
  }
}

// A variable keeps the type of its declaration: a loop carries it round, and one type must serve every turn.
std::optional<ValueId> KernelBuilder::to_variable_type(const Binding& variable, const std::string& name, Value value,
                                                       const ast::Expression& node) {
  const Type type = type_of(variable.value);
  if (!require_number({value, &node})) return std::nullopt;
  const std::vector<Note> notes = {{variable.range, name + " is declared here"}};
  const int errors = diagnostics_.num_errors();
  if (value.is_literal() &&
      (dtype_is_float(type.dtype) || (value.kind == Value::Kind::kIntLiteral && dtype_is_int(type.dtype)))) {
    value = Value::typed(literal_as(value, type.dtype, node.range));
    if (diagnostics_.num_errors() != errors) return std::nullopt;
  }
  const Type got = type_of(value);
  if (got.dtype != type.dtype) {
    fail(node.range,
         "`" + name + "` is " + type_text(kernel_, type) + " and the value is " + describe(value) +
             "; cast the value, as in " + dtype_name(type.dtype) + "(...), or declare `" + name + "` with that type",
         notes);
    return std::nullopt;
  }
  if (!spreads_to(got.axes, type.axes)) {
    fail(node.range,
         "`" + name + "` is " + type_text(kernel_, type) + " and cannot become " + type_text(kernel_, got) +
             "; declare it with that shape, or reduce the value",
         notes);
    return std::nullopt;
  }
  // Along a tile of the variable's block, only the lanes that the tile has change.
  std::vector<AxisId> axes = type.axes;
  for (size_t i = 0; i < got.axes.size(); ++i) {
    AxisId& axis = axes[axes.size() - got.axes.size() + i];
    if (axis != got.axes[i] && axis != kUnitAxis && got.axes[i] != kUnitAxis && is_block(kernel_.axis(axis)))
      axis = got.axes[i];
  }
  const ValueId changed = spread(materialise(value), axes);
  if (axes == type.axes) return changed;
  return builder_.add_result(builder_.insert(OpKind::kMerge, {variable.value.id, changed}), type);
}

void KernelBuilder::store(const ast::Statement& statement) {
  const ast::Expression& target = *statement.target;
  const Value tensor = expression(*target.children[0]);
  if (tensor.is_error()) return;
  if (tensor.kind != Value::Kind::kTensor) {
    fail(target.range, "`" + target.children[0]->text + "` is no tensor; a part of a value cannot be assigned");
    return;
  }
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(tensor.tensor)];
  const std::vector<Note> notes = {{facts_.places[param.name], param.name + " is declared here"}};
  stored_[static_cast<size_t>(tensor.tensor)] = true;
  if (!param.is_output) {
    fail(target.range,
         "`" + param.name + "` is an input; only outputs can be stored to, and one declared `alias " + param.name +
             "` may be the same memory",
         notes);
    return;
  }
  if (loop_depth_ == 0) {
    fail(statement.range, "a store belongs inside the tile loop");
    return;
  }
  Items items;
  for (size_t i = 1; i < target.children.size(); ++i) items.push_back(target.children[i].get());
  Place place;
  const bool ok = place_of(items, target.focus, tensor, /*is_store=*/true, &place);
  const Operand value{expression(*statement.value), statement.value.get()};
  builder_.set_range(statement.range);
  if (!ok || value.value.is_error()) return;
  if (value.value.is_typed()) adopt_axes(type_of(value.value), &place);
  const std::optional<ValueId> stored = value_at(value, tensor, place, target.range);
  if (!stored) return;
  if (statement.op == TokenKind::kEqual) {
    stores_.push_back(&builder_.store(tensor.tensor, place.index, *stored));
    return;
  }
  const std::string quoted = token_kind_text(statement.op);
  if (reject_storage_type(quoted.substr(1, quoted.size() - 2), value)) return;
  const std::optional<BinaryFn> fn = update_function(statement, param);
  if (!fn) return;
  Op& update = builder_.store(tensor.tensor, place.index, *stored);
  update.set_attr("fn", std::string(fn_text(*fn)));
  check_update(statement, update);
}

void KernelBuilder::for_statement(const ast::Statement& statement) {
  if (statement.value->text == "static_range") return unrolled_loop(statement);
  const bool is_outermost = loop_depth_ == 0;
  if (is_outermost && !calls_.empty()) {
    fail(statement.range, "a `fn` that is called outside the outermost loop cannot loop");
    return;
  }
  if (is_outermost && has_grid_) {
    fail(statement.names[0].range,
         "a second outermost loop: the tiles of the first are the grid of this kernel's launch; write a second kernel, "
         "or put both loops into one over what they share");
    return;
  }
  if (is_outermost) has_grid_ = true;
  std::vector<AxisId> axes;
  const bool ok = tile_axes(statement, &axes);
  const std::vector<std::string> carried = carried_variables(statement);
  if (is_outermost && !carried.empty()) {
    const Binding* variable = find(carried[0]);
    fail(statement.names[0].range,
         "`" + carried[0] +
             "` would be carried from tile to tile of the outermost loop, whose tiles run at the same time; "
             "declare it inside the loop",
         {{variable->range, carried[0] + " is declared here"}});
    return;
  }
  if (ok) loop_body(statement, axes, carried);
}

void KernelBuilder::loop_body(const ast::Statement& statement, const std::vector<AxisId>& axes,
                              const std::vector<std::string>& carried) {
  std::vector<ValueId> inits;
  for (const std::string& name : carried) {
    if (find(name)->value.is_error()) return;
    inits.push_back(materialise(find(name)->value));
  }
  builder_.set_range(statement.range);
  Op& op = builder_.begin_tile(axes, inits);
  if (loop_depth_ == 0) grid_axes_ = axes;
  const size_t num_stores = stores_.size();
  host_values_.emplace_back();
  ++loop_depth_;
  push_scope();
  for (size_t i = 0; i < carried.size(); ++i) {
    find(carried[i])->value = Value::typed(op.regions[0].args[i]);
    kernel_.values[static_cast<size_t>(op.regions[0].args[i])].name = carried[i];
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    Value variable;
    if (statement.value->text == "grid") {
      variable = Value::typed(builder_.axis_info(axes[i], "begin"));
      kernel_.values[static_cast<size_t>(variable.id)].name = statement.names[i].text;
    } else {
      variable.kind = Value::Kind::kTileVariable;
      variable.axis = axes[i];
      variable.name = statement.names[i].text;
    }
    if (declare(statement.names[i], variable, /*is_var=*/false)) scopes_.back()[statement.names[i].text].used = true;
  }
  statements(statement.body);
  std::vector<ValueId> yields;
  for (const std::string& name : carried) yields.push_back(find(name)->value.id);
  pop_scope();
  --loop_depth_;
  host_values_.pop_back();
  stores_.resize(num_stores);
  builder_.set_range(statement.range);
  builder_.end(yields);
  for (size_t i = 0; i < carried.size(); ++i) {
    kernel_.values[static_cast<size_t>(op.results[i])].name = carried[i];
    find(carried[i])->value = Value::typed(op.results[i]);
  }
}

std::vector<std::string> KernelBuilder::carried_variables(const ast::Statement& statement) {
  std::vector<std::string> assigned;
  assigned_names(statement.body, &assigned);
  assigned_names(statement.else_body, &assigned);
  std::vector<std::string> carried;
  for (const std::string& name : assigned) {
    const Binding* binding = find(name);
    if (binding != nullptr && binding->is_var) carried.push_back(name);
  }
  return carried;
}

}  // namespace kaon::compiler
