// Several values as one, and what becomes of a `fn`: inlined where it is called, or handed on by its name.
#include <utility>

#include "compiler/frontend/builtins.h"

namespace kaon::compiler {
namespace {

constexpr size_t kMaxInlineDepth = 32;

}  // namespace

Value KernelBuilder::tuple(const ast::Expression& node) {
  std::vector<Value> items;
  for (const ast::ExpressionPtr& child : node.children) {
    Value item = expression(*child);
    if (item.is_error()) return item;
    if (item.is_tuple()) return fail(child->range, "a tuple holds single values, got " + describe(item));
    if (!require_number({item, child.get()})) return Value::error();
    items.push_back(std::move(item));
  }
  return Value::tuple(std::move(items));
}

Value KernelBuilder::tuple_item(const ast::Expression& node, const Value& tuple) {
  const int64_t count = static_cast<int64_t>(tuple.items.size());
  const bool is_one = node.children.size() == 2 && node.children[1]->kind != ast::ExpressionKind::kSlice &&
                      node.children[1]->kind != ast::ExpressionKind::kNone;
  if (!is_one) {
    return fail(node.focus,
                "this is " + describe(tuple) + "; its subscript is one constant, 0 to " + std::to_string(count - 1));
  }
  const std::optional<int64_t> position = constant(*node.children[1], "the subscript of a tuple");
  if (!position) return Value::error();
  if (*position < -count || *position >= count) {
    return fail(node.children[1]->range, "subscript " + std::to_string(*position) + " is outside this tuple of " +
                                             std::to_string(count) + " values, which are " + std::to_string(-count) +
                                             " to " + std::to_string(count - 1));
  }
  return tuple.items[static_cast<size_t>(*position < 0 ? *position + count : *position)];
}

Value KernelBuilder::function_named(const std::string& name) {
  Value value = Value::error();
  for (const ast::Function& function : file_.functions) {
    if (function.name.text == name) value.function = &function;
  }
  UnaryFn ignored;
  if (value.function == nullptr && find_builtin(name) == nullptr && !parse_fn(name, &ignored)) return value;
  value.kind = Value::Kind::kFunction;
  value.name = name;
  return value;
}

Value KernelBuilder::function_argument(const ast::Expression& node, const std::string& usage) {
  const Value value = expression(node);
  if (value.is_error() || value.kind == Value::Kind::kFunction) return value;
  return fail(node.range, "expected the name of a function, got " + describe(value) + ": " + usage);
}

Value KernelBuilder::apply_function(const Value& function, std::vector<Value> arguments, SourceRange range) {
  if (function.function != nullptr) return inline_function(*function.function, std::move(arguments), range);
  // A function of the language takes expressions: names that stand for the arguments in a frame of their own.
  ast::Expression call;
  call.kind = ast::ExpressionKind::kCall;
  call.range = call.focus = range;
  call.text = function.name;
  Scope scope;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto name = std::make_unique<ast::Expression>();
    name->range = name->focus = range;
    name->text = "argument " + std::to_string(i + 1);  // no name of a program has a blank
    scope[name->text] = {std::move(arguments[i]), {}};
    call.children.push_back(std::move(name));
  }
  const size_t outer_frame = std::exchange(frame_, scopes_.size());
  scopes_.push_back(std::move(scope));
  Value result = this->call(call);
  scopes_.pop_back();
  frame_ = outer_frame;
  return result;
}

Value KernelBuilder::inline_call(const ast::Function& function, const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  std::vector<Value> arguments;
  for (const ast::ExpressionPtr& child : node.children) {
    Value value = expression(*child);
    if (value.is_error()) return value;
    if (value.kind == Value::Kind::kTensor) {
      return fail(child->range, "a tensor cannot be passed to a `fn`; load from it and pass the value");
    }
    arguments.push_back(std::move(value));
  }
  return inline_function(function, std::move(arguments), node.range);
}

Value KernelBuilder::inline_function(const ast::Function& function, std::vector<Value> arguments, SourceRange call) {
  const size_t count = function.params.size();
  if (arguments.size() != count) {
    return fail(call,
                function.name.text + " takes " + std::to_string(count) + (count == 1 ? " argument" : " arguments") +
                    ", got " + std::to_string(arguments.size()),
                {{function.name.range, function.name.text + " is declared here"}});
  }
  for (const CallSite& site : calls_) {
    if (site.function != &function) continue;
    return fail(call, function.name.text + " calls itself; a `fn` is inlined, so it cannot recurse");
  }
  if (calls_.size() >= kMaxInlineDepth)
    return fail(call, "calls nest more than " + std::to_string(kMaxInlineDepth) + " deep");
  Scope scope;
  for (size_t i = 0; i < count; ++i) {
    scope[function.params[i].text] = {std::move(arguments[i]), function.params[i].range};
  }
  const size_t outer_frame = std::exchange(frame_, scopes_.size());
  scopes_.push_back(std::move(scope));
  calls_.push_back({&function, call});
  Value result = Value::error();
  if (function.body.empty() || function.body.back().kind != ast::StatementKind::kReturn) {
    fail(function.name.range, "`fn " + function.name.text + "` does not end in `return`");
  } else {
    push_scope();
    for (const ast::Statement& statement : function.body) {
      if (&statement == &function.body.back()) break;
      one_statement(statement);
    }
    result = expression(*function.body.back().value);
    pop_scope();
  }
  calls_.pop_back();
  scopes_.pop_back();
  frame_ = outer_frame;
  builder_.set_range(call);
  return result;
}

}  // namespace kaon::compiler
