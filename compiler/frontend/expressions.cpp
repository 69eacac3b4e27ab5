// Names, members and operators.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;
using ast::TokenKind;

struct OperatorRow {
  TokenKind token;
  const char* text;
  BinaryFn on_floats;
  BinaryFn on_integers;
};

// A compound assignment works as its operator. `/` on integers rounds down.
constexpr OperatorRow kOperators[] = {
    {TokenKind::kPlus, "+", BinaryFn::kAdd, BinaryFn::kAdd},
    {TokenKind::kMinus, "-", BinaryFn::kSub, BinaryFn::kSub},
    {TokenKind::kStar, "*", BinaryFn::kMul, BinaryFn::kMul},
    {TokenKind::kSlash, "/", BinaryFn::kDiv, BinaryFn::kFloorDiv},
    {TokenKind::kPercent, "%", BinaryFn::kMod, BinaryFn::kMod},
    {TokenKind::kAmp, "&", BinaryFn::kAnd, BinaryFn::kAnd},
    {TokenKind::kPipe, "|", BinaryFn::kOr, BinaryFn::kOr},
    {TokenKind::kCaret, "^", BinaryFn::kXor, BinaryFn::kXor},
    {TokenKind::kShl, "<<", BinaryFn::kShl, BinaryFn::kShl},
    {TokenKind::kShr, ">>", BinaryFn::kShr, BinaryFn::kShr},
    {TokenKind::kAnd, "and", BinaryFn::kAnd, BinaryFn::kAnd},
    {TokenKind::kOr, "or", BinaryFn::kOr, BinaryFn::kOr},
};

/// A number that stands there in digits, and not a name for one.
bool is_written_number(const ast::Expression& node) {
  if (node.kind == ExpressionKind::kUnary || node.kind == ExpressionKind::kBinary) {
    return std::all_of(node.children.begin(), node.children.end(),
                       [](const ast::ExpressionPtr& child) { return is_written_number(*child); });
  }
  return node.kind == ExpressionKind::kInteger;
}

const OperatorRow* find_operator(TokenKind token) {
  for (const OperatorRow& row : kOperators) {
    if (row.token == token) return &row;
  }
  return nullptr;
}

bool comparison_of(TokenKind token, CompareFn* fn) {
  switch (token) {
    case TokenKind::kEqualEqual: *fn = CompareFn::kEq; return true;
    case TokenKind::kNotEqual: *fn = CompareFn::kNe; return true;
    case TokenKind::kLess: *fn = CompareFn::kLt; return true;
    case TokenKind::kLessEqual: *fn = CompareFn::kLe; return true;
    case TokenKind::kGreater: *fn = CompareFn::kGt; return true;
    case TokenKind::kGreaterEqual: *fn = CompareFn::kGe; return true;
    default: return false;
  }
}

bool host_op(TokenKind token, ExprOp* op) {
  switch (token) {
    case TokenKind::kPlus: *op = ExprOp::kAdd; return true;
    case TokenKind::kMinus: *op = ExprOp::kSub; return true;
    case TokenKind::kStar: *op = ExprOp::kMul; return true;
    case TokenKind::kSlash: *op = ExprOp::kFloorDiv; return true;
    case TokenKind::kPercent: *op = ExprOp::kMod; return true;
    default: return false;
  }
}

const char* const kMembers[] = {"index", "begin", "end", "id", "block_size", "count"};

}  // namespace

bool KernelBuilder::is_member(const std::string& name) {
  return std::find(std::begin(kMembers), std::end(kMembers), name) != std::end(kMembers);
}

Value KernelBuilder::expression(const ast::Expression& node) {
  if (too_large(node.range)) return Value::error();
  builder_.set_range(node.range);
  switch (node.kind) {
    case ExpressionKind::kName: return name(node);
    case ExpressionKind::kInteger: return Value::int_literal(node.int_value);
    case ExpressionKind::kFloat: return Value::float_literal(node.float_value);
    case ExpressionKind::kBool: return known_bool(node.int_value != 0);
    case ExpressionKind::kUnary: return unary(node);
    case ExpressionKind::kBinary: {
      const Value a = expression(*node.children[0]);
      const Value b = expression(*node.children[1]);
      builder_.set_range(node.range);
      return binary(node.op, node.focus, {a, node.children[0].get()}, {b, node.children[1].get()});
    }
    case ExpressionKind::kCall: return call(node);
    case ExpressionKind::kSubscript: return subscript(node);
    case ExpressionKind::kMember: return member(node);
    case ExpressionKind::kTuple: return tuple(node);
    case ExpressionKind::kString:
      return fail(node.range, "a text is no value; it stands only in print(...), in assert(...) and after order=");
    case ExpressionKind::kNone:
    case ExpressionKind::kSlice: break;
  }
  return fail(node.range, "expected a value");
}

Value KernelBuilder::name(const ast::Expression& node) {
  if (Binding* binding = find(node.text)) {
    binding->used = true;
    return binding->value;
  }
  if (Value function = function_named(node.text); !function.is_error()) return function;
  if (node.text == "inf") return Value::float_literal(std::numeric_limits<double>::infinity());
  if (node.text == "nan") return Value::float_literal(std::numeric_limits<double>::quiet_NaN());
  if (dtype_named(node.text))
    return fail(node.range, "`" + node.text + "` is an element type; a cast is " + node.text + "(value)");
  if (!calls_.empty() && scopes_.front().count(node.text) != 0) {
    return fail(node.range,
                "`" + node.text + "` is not visible here: a `fn` sees its parameters only; pass it as an argument",
                {{calls_.back().function->name.range, calls_.back().function->name.text + " is declared here"}});
  }
  std::vector<std::string> known;
  for (size_t i = frame_; i < scopes_.size(); ++i) {
    for (const auto& [other, binding] : scopes_[i]) known.push_back(other);
  }
  if (const auto ended = ended_.find(node.text); ended != ended_.end()) {
    return fail(
        node.range,
        "`" + node.text + "` ended with the block that it was declared in; what outlives a block is a `var` before it",
        {{ended->second, node.text + " is declared here"}});
  }
  return fail(node.range, "`" + node.text + "` is not declared" + did_you_mean(node.text, known));
}

Value KernelBuilder::member(const ast::Expression& node) {
  const Value base = expression(*node.children[0]);
  if (base.is_error()) return base;
  std::string members;
  for (const char* member : kMembers) members += std::string(members.empty() ? "" : ", ") + member;
  if (base.kind != Value::Kind::kTileVariable) {
    if (base.kind == Value::Kind::kTensor) {
      return fail(node.focus, "tensor " + base.name + " has no member `" + node.text +
                                  "`; its extents have names in the kernel's head");
    }
    return fail(node.focus, describe(base) + " has no member `" + node.text + "`" +
                                (function_named(node.text).is_error() ? "; only tile variables have members"
                                                                      : "; call it, as in x." + node.text + "()"));
  }
  if (!is_member(node.text)) {
    return fail(node.focus, "tile variable " + base.name + " has no member `" + node.text + "`; it has " + members);
  }
  builder_.set_range(node.range);
  return Value::typed(node.text == "index" ? builder_.index(base.axis) : builder_.axis_info(base.axis, node.text));
}

Value KernelBuilder::unary(const ast::Expression& node) {
  const Operand a{expression(*node.children[0]), node.children[0].get()};
  builder_.set_range(node.range);
  if (a.value.is_error() || !require_number(a)) return Value::error();
  if (node.op == TokenKind::kMinus) {
    if (a.value.kind == Value::Kind::kIntLiteral)
      return Value::int_literal(static_cast<int64_t>(0 - static_cast<uint64_t>(a.value.int_value)));
    if (a.value.kind == Value::Kind::kFloatLiteral) return Value::float_literal(-a.value.float_value);
    if (a.value.host) {
      if (std::optional<HostInt> negated = HostInt::binary(ExprOp::kSub, HostInt(0), *a.value.host))
        return Value::host_int(*negated);
    }
    return emit_unary(UnaryFn::kNeg, node.focus, a);
  }
  const bool logical = node.op == TokenKind::kNot;
  const DType dtype = type_of(a.value).dtype;
  if (logical && (dtype != DType::kBool || a.value.is_literal())) {
    return fail(node.focus, "`not` takes a bool, got " + describe(a.value) +
                                (dtype_is_int(dtype) ? "; compare with 0, or invert bits with ~" : "; compare first"));
  }
  if (!logical && a.value.kind == Value::Kind::kIntLiteral) return Value::int_literal(~a.value.int_value);
  if (!logical && (!dtype_is_int(dtype) || a.value.is_literal())) {
    return fail(node.focus,
                "`~` takes integers, got " + describe(a.value) + (dtype == DType::kBool ? "; write `not`" : ""));
  }
  if (a.value.truth) return known_bool(!*a.value.truth);
  return emit_unary(UnaryFn::kNot, node.focus, a);
}

Value KernelBuilder::fold_literals(TokenKind op, SourceRange op_range, const Operand& a, const Operand& b) {
  if (a.value.kind == Value::Kind::kIntLiteral && b.value.kind == Value::Kind::kIntLiteral) {
    const int64_t x = a.value.int_value;
    const int64_t y = b.value.int_value;
    ExprOp host;
    if (host_op(op, &host)) {
      if ((op == TokenKind::kSlash || op == TokenKind::kPercent) && y == 0) return fail(op_range, "division by zero");
      const int64_t result = Expr::binary(host, Expr(x), Expr(y)).evaluate(nullptr);
      const bool is_exact = Expr::binary(ExprOp::kMod, Expr(x), Expr(y)).evaluate(nullptr) == 0;
      if (op == TokenKind::kSlash && !is_exact && is_written_number(*a.node) && is_written_number(*b.node)) {
        return fail(op_range, "integers divide to an integer: " + std::to_string(x) + " / " + std::to_string(y) +
                                  " is " + std::to_string(result) + "; write " + std::to_string(x) + ".0 / " +
                                  std::to_string(y) + " for the fraction");
      }
      return Value::int_literal(result);
    }
    switch (op) {
      case TokenKind::kAmp: return Value::int_literal(x & y);
      case TokenKind::kPipe: return Value::int_literal(x | y);
      case TokenKind::kCaret: return Value::int_literal(x ^ y);
      case TokenKind::kShl:
      case TokenKind::kShr:
        if (y < 0 || y > 63) return fail(op_range, "shift by " + std::to_string(y) + ", expected 0 to 63");
        return Value::int_literal(op == TokenKind::kShl ? static_cast<int64_t>(static_cast<uint64_t>(x) << y) : x >> y);
      default:
        return fail(op_range, "`" + std::string(find_operator(op)->text) + "` takes bools, got numbers; compare first");
    }
  }
  auto number = [](const Value& v) {
    return v.kind == Value::Kind::kFloatLiteral ? v.float_value : static_cast<double>(v.int_value);
  };
  const double x = number(a.value);
  const double y = number(b.value);
  switch (op) {
    case TokenKind::kPlus: return Value::float_literal(x + y);
    case TokenKind::kMinus: return Value::float_literal(x - y);
    case TokenKind::kStar: return Value::float_literal(x * y);
    case TokenKind::kSlash: return Value::float_literal(x / y);
    default: return fail(op_range, "`" + std::string(find_operator(op)->text) + "` takes no floats");
  }
}

Value KernelBuilder::binary(TokenKind op, SourceRange op_range, const Operand& a, const Operand& b) {
  if (a.value.is_error() || b.value.is_error()) return Value::error();
  if (!require_number(a) || !require_number(b)) return Value::error();
  if (op == TokenKind::kAt) return matrix_product("@", op_range, a, b, nullptr);
  CompareFn comparison;
  if (comparison_of(op, &comparison)) return compare(comparison, op_range, a, b);
  if (a.value.is_literal() && b.value.is_literal()) return fold_literals(op, op_range, a, b);
  const OperatorRow& row = *find_operator(op);
  if (op == TokenKind::kAnd || op == TokenKind::kOr) {
    for (const Operand* operand : {&a, &b}) {
      if (!operand->value.is_literal() && type_of(operand->value).dtype == DType::kBool) continue;
      return fail(operand->node->range, "`" + std::string(row.text) + "` takes bools, got " + describe(operand->value) +
                                            "; compare first, as in a > 0");
    }
    if (a.value.truth && b.value.truth) {
      return known_bool(op == TokenKind::kAnd ? *a.value.truth && *b.value.truth : *a.value.truth || *b.value.truth);
    }
  }
  // What the host knows stays known: extents and bounds are made of it.
  auto host_of = [](const Value& v) {
    return v.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(v.int_value) : v.host;
  };
  const std::optional<HostInt> x = host_of(a.value);
  const std::optional<HostInt> y = host_of(b.value);
  ExprOp host;
  if (x && y && host_op(op, &host)) {
    if ((host == ExprOp::kFloorDiv || host == ExprOp::kMod) && y->constant() == 0)
      return fail(op_range, "division by zero");
    if (std::optional<HostInt> result = HostInt::binary(host, *x, *y)) return Value::host_int(*result);
  }
  const bool floats = (a.value.is_typed() && dtype_is_float(type_of(a.value).dtype)) ||
                      (b.value.is_typed() && dtype_is_float(type_of(b.value).dtype));
  return emit_binary(floats ? row.on_floats : row.on_integers, row.text, op_range, a, b);
}

/// The operator within a compound assignment.
TokenKind KernelBuilder::operator_of(TokenKind assignment) {
  switch (assignment) {
    case TokenKind::kPlusEqual: return TokenKind::kPlus;
    case TokenKind::kMinusEqual: return TokenKind::kMinus;
    case TokenKind::kStarEqual: return TokenKind::kStar;
    case TokenKind::kSlashEqual: return TokenKind::kSlash;
    case TokenKind::kPercentEqual: return TokenKind::kPercent;
    case TokenKind::kAmpEqual: return TokenKind::kAmp;
    case TokenKind::kPipeEqual: return TokenKind::kPipe;
    case TokenKind::kCaretEqual: return TokenKind::kCaret;
    case TokenKind::kShlEqual: return TokenKind::kShl;
    default: return TokenKind::kShr;
  }
}

/// What `+=` and its kin compute.
BinaryFn KernelBuilder::assigned_function(TokenKind assignment, bool on_floats) {
  const OperatorRow& row = *find_operator(operator_of(assignment));
  return on_floats ? row.on_floats : row.on_integers;
}

Value KernelBuilder::emit_binary(BinaryFn fn, const std::string& text, SourceRange range, const Operand& a,
                                 const Operand& b) {
  std::vector<ValueId> values;
  if (!unify(text, range, {a, b}, &values)) return Value::error();
  const DType dtype = kernel_.type(values[0]).dtype;
  const std::string expected = why_illegal_operand(fn, dtype);
  if (!expected.empty()) {
    std::string mend;
    if (fn == BinaryFn::kMod && dtype_is_float(dtype)) mend = "; the remainder of floats is a - floor(a / b) * b";
    if (dtype == DType::kBool) mend = "; combine bools with `and`, `or`, `not`, or cast, as in f32(...)";
    return fail(range, "`" + text + "` takes " + expected + ", got " + dtype_name(dtype) + mend);
  }
  return Value::typed(builder_.binary(fn, values[0], values[1]));
}

Value KernelBuilder::known_bool(bool truth) {
  return Value::known_bool(builder_.int_const(DType::kBool, truth), truth);
}

/// What a comparison of integers gives that are known while the kernel is built.
std::optional<bool> KernelBuilder::compare_constants(CompareFn fn, const Value& a, const Value& b) const {
  auto constant = [](const Value& v) {
    if (v.kind == Value::Kind::kIntLiteral) return std::optional<int64_t>(v.int_value);
    return v.is_typed() && v.host ? v.host->constant() : std::nullopt;
  };
  const std::optional<int64_t> x = constant(a);
  const std::optional<int64_t> y = constant(b);
  if (!x || !y) return std::nullopt;
  switch (fn) {
    case CompareFn::kEq: return *x == *y;
    case CompareFn::kNe: return *x != *y;
    case CompareFn::kLt: return *x < *y;
    case CompareFn::kLe: return *x <= *y;
    case CompareFn::kGt: return *x > *y;
    case CompareFn::kGe: return *x >= *y;
  }
  return std::nullopt;
}

Value KernelBuilder::compare(CompareFn fn, SourceRange op_range, const Operand& a, const Operand& b) {
  static const char* const kTexts[] = {"==", "!=", "<", "<=", ">", ">="};
  const std::string text = kTexts[static_cast<int>(fn)];
  if (const std::optional<bool> known = compare_constants(fn, a.value, b.value)) return known_bool(*known);
  std::vector<ValueId> values;
  if (!unify(text, op_range, {a, b}, &values)) return Value::error();
  const DType dtype = kernel_.type(values[0]).dtype;
  const std::string expected = why_illegal_operand(fn, dtype);
  if (!expected.empty()) return fail(op_range, "`" + text + "` takes " + expected + ", got " + dtype_name(dtype));
  return Value::typed(builder_.compare(fn, values[0], values[1]));
}

std::optional<int64_t> KernelBuilder::constant(const ast::Expression& node, const char* what) {
  const Value value = expression(node);
  if (value.is_error()) return std::nullopt;
  if (value.kind == Value::Kind::kIntLiteral) return value.int_value;
  if (value.host && value.host->constant()) return *value.host->constant();
  fail(node.range, std::string(what) + " is a constant, got " + describe(value));
  return std::nullopt;
}

std::optional<bool> KernelBuilder::flag(const ast::Expression& node, const char* what) {
  if (node.kind == ExpressionKind::kBool) return node.int_value != 0;
  fail(node.range, std::string(what) + " is true or false");
  return std::nullopt;
}

}  // namespace kaon::compiler
