// Calls: which function a name means, casts, and element-wise functions.
#include "compiler/frontend/builtins.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

// Functions of the unary op that are no function of the language: operators stand for them.
bool is_operator_only(UnaryFn fn) { return fn == UnaryFn::kNeg || fn == UnaryFn::kNot; }

const char* const kUnaryNames[] = {
#define KAON_UNARY(enumerator, text) text,
#include "compiler/ir/functions.inc"
#undef KAON_UNARY
};

// Known to people from elsewhere, and what stands for them here until they exist.
struct Later {
  const char* name;
  const char* mend;
};
constexpr Later kLater[] = {
    {"specialize", ""},
};

struct Renamed {
  const char* name;
  const char* here;
};
constexpr Renamed kRenamed[] = {
    {"max", "maximum(a, b) of two values, or amax(x, dim=1) along an axis"},
    {"min", "minimum(a, b) of two values, or amin(x, dim=1) along an axis"},
    {"floordiv", "`/`, which rounds down on integers"},
    {"mod", "`%`"},
    {"fma", "a * b + c"},
    {"select", "where(condition, a, b)"},
    {"int", "a cast such as i32(...)"},
    {"float", "a cast such as f32(...)"},
    {"fabs", "abs(x)"},
    {"addmm", "dot(a, b, acc)"},
    {"bmm", "dot(a, b) or a @ b"},
    {"matmul", "dot(a, b) or a @ b"},
    {"mm", "dot(a, b) or a @ b"},
    {"ones", "full(f32, 1, m)"},
    {"gather", "x[index] with a tile of indices"},
    {"scatter", "out[index] = value with a tile of indices"},
    {"view", "reshape(x, m, 2, 64)"},
    {"cat", "concat((a, b), dim=0)"},
};

}  // namespace

// In alphabetical order.
const KernelBuilder::Builtin KernelBuilder::kBuiltins[] = {
    {"amax", "amax(x, dim=1, keepdim=false)", &KernelBuilder::reduction},
    {"amin", "amin(x, dim=1, keepdim=false)", &KernelBuilder::reduction},
    {"arange", "arange(extent) or arange(begin, end)", &KernelBuilder::arange},
    {"argmax", "argmax(x, dim=1, keepdim=false)", &KernelBuilder::arg_extremum},
    {"argmin", "argmin(x, dim=1, keepdim=false)", &KernelBuilder::arg_extremum},
    {"associative_scan", "associative_scan(fn, x, dim=1, reverse=false) or associative_scan(fn, (a, b), dim=1)",
     &KernelBuilder::associative_scan},
    {"atomic_add", "atomic_add(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_and", "atomic_and(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_cas", "atomic_cas(out, (m, n), expected, value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_max", "atomic_max(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_min", "atomic_min(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_or", "atomic_or(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_xchg", "atomic_xchg(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"atomic_xor", "atomic_xor(out, (m, n), value, mask=c)", &KernelBuilder::atomic_call},
    {"broadcast_to", "broadcast_to(x, m, 64)", &KernelBuilder::expand},
    {"chunk", "chunk(x, 2, dim=-1)", &KernelBuilder::chunk},
    {"clamp", "clamp(x, low, high)", &KernelBuilder::clamp},
    {"concat", "concat((a, b), dim=0)", &KernelBuilder::concat},
    {"cumprod", "cumprod(x, dim=1, reverse=false)", &KernelBuilder::cumulative},
    {"cumsum", "cumsum(x, dim=1, reverse=false)", &KernelBuilder::cumulative},
    {"dot", "dot(a, b, acc)", &KernelBuilder::dot},
    {"expand", "expand(x, m, 64)", &KernelBuilder::expand},
    {"expand_as", "expand_as(x, y)", &KernelBuilder::expand_as},
    {"full", "full(f32, value, m, n)", &KernelBuilder::full},
    {"join", "join(a, b)", &KernelBuilder::join},
    {"load", "load(x, (m, n), mask=c, other=v)", &KernelBuilder::load_call},
    {"maximum", "maximum(a, b)", &KernelBuilder::minimum_maximum},
    {"mean", "mean(x, dim=1, keepdim=false)", &KernelBuilder::reduction},
    {"minimum", "minimum(a, b)", &KernelBuilder::minimum_maximum},
    {"permute", "permute(x, 1, 0)", &KernelBuilder::permute},
    {"pow", "pow(a, b)", &KernelBuilder::pow},
    {"prod", "prod(x, dim=1, keepdim=false)", &KernelBuilder::reduction},
    {"rand", "rand(seed, m, n)", &KernelBuilder::random_call},
    {"randint", "randint(seed, low, high, m, n)", &KernelBuilder::random_call},
    {"reduce", "reduce(fn, x, dim=1, keepdim=false) or reduce(fn, (a, b), dim=1)",
     &KernelBuilder::reduce_by_function},
    {"relu", "relu(x)", &KernelBuilder::relu},
    {"reshape", "reshape(x, m, 2, 64)", &KernelBuilder::reshape},
    {"silu", "silu(x)", &KernelBuilder::silu},
    {"split", "split(x)", &KernelBuilder::split},
    {"squeeze", "squeeze(x, dim)", &KernelBuilder::squeeze},
    {"stack", "stack((a, b), dim=0)", &KernelBuilder::stack},
    {"sum", "sum(x, dim=1, keepdim=false)", &KernelBuilder::reduction},
    {"t", "t(x)", &KernelBuilder::swap_axes},
    {"transpose", "transpose(x, 0, 1)", &KernelBuilder::transpose},
    {"unbind", "unbind(x, dim=0)", &KernelBuilder::unbind},
    {"unsqueeze", "unsqueeze(x, dim)", &KernelBuilder::unsqueeze},
    {"where", "where(condition, a, b)", &KernelBuilder::where},
    {"zeros", "zeros(f32, m, n)", &KernelBuilder::zeros},
};

const KernelBuilder::Builtin* KernelBuilder::find_builtin(const std::string& name) {
  for (const Builtin& builtin : kBuiltins) {
    if (name == builtin.name) return &builtin;
  }
  return nullptr;
}

std::vector<std::string> KernelBuilder::callable_names() {
  std::vector<std::string> names(std::begin(kUnaryNames), std::end(kUnaryNames));
  for (const Builtin& builtin : kBuiltins) names.push_back(builtin.name);
  for (const ast::Function& function : file_.functions) names.push_back(function.name.text);
  for (int i = 0; i < kNumDTypes; ++i) names.push_back(dtype_name(static_cast<DType>(i)));
  return names;
}

std::optional<DType> KernelBuilder::dtype_named(const std::string& name) {
  DType dtype;
  if (parse_dtype(name, &dtype)) return dtype;
  auto bound = dtypes_.find(name);
  return bound != dtypes_.end() && calls_.empty() ? std::optional<DType>(bound->second) : std::nullopt;
}

Value KernelBuilder::call(const ast::Expression& node) {
  if (std::optional<DType> dtype = dtype_named(node.text)) return cast(node, *dtype);
  for (const ast::Function& function : file_.functions) {
    if (function.name.text == node.text) return inline_call(function, node);
  }
  if (const Builtin* builtin = find_builtin(node.text)) return (this->*builtin->build)(node);
  UnaryFn fn;
  if (parse_fn(node.text, &fn) && !is_operator_only(fn)) return unary_function(node, fn);
  if (node.text == "store" || node.text == "print" || node.text == "assert") {
    return fail(node.focus, node.text + "(...) has no value; it stands as a statement");
  }
  if (node.text == "block") {
    return fail(node.focus, "block(...) registers a block size, alone on the right of `let B = block(N);`");
  }
  if (node.text == "tile") return fail(node.focus, "tile(...) stands only in the head of a loop, `for m in tile(M)`");
  for (const Later& later : kLater) {
    if (node.text == later.name) return fail(node.focus, node.text + "(...) is not supported yet" + later.mend);
  }
  for (const Renamed& renamed : kRenamed) {
    if (node.text == renamed.name)
      return fail(node.focus, "there is no function `" + node.text + "`; write " + renamed.here);
  }
  for (const ast::Kernel& kernel : file_.kernels) {
    if (kernel.name.text == node.text)
      return fail(node.focus, "`" + node.text + "` is a kernel and cannot be called from a body; share code as a `fn`");
  }
  if (is_member(node.text))
    return fail(node.focus,
                "`" + node.text + "` is a member of tile variables and takes no parentheses; write m." + node.text);
  if (const Binding* binding = find(node.text)) {
    return fail(node.focus, "`" + node.text + "` is no function", {{binding->range, node.text + " is declared here"}});
  }
  return fail(node.focus, "there is no function `" + node.text + "`" + did_you_mean(node.text, callable_names()));
}

bool KernelBuilder::operands_of(const ast::Expression& node, size_t least, size_t most, const char* usage,
                                std::vector<Operand>* out) {
  const size_t count = node.children.size();
  if (count < least || count > most) {
    const std::string expected =
        least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
    fail(node.range, node.text + " takes " + expected + (most == 1 ? " argument, got " : " arguments, got ") +
                         std::to_string(count) + ": " + usage);
    return false;
  }
  bool ok = true;
  for (const ast::ExpressionPtr& child : node.children) {
    Operand operand{expression(*child), child.get()};
    ok = ok && !operand.value.is_error();
    if (!operand.value.is_error()) ok = require_number(operand) && ok;
    out->push_back(std::move(operand));
  }
  builder_.set_range(node.range);
  return ok;
}

bool KernelBuilder::only_named(const ast::Expression& node, const std::vector<std::string>& names) {
  for (size_t i = 0; i < node.named.size(); ++i) {
    const ast::NamedArgument& argument = node.named[i];
    bool known = false;
    for (const std::string& name : names) known = known || argument.name == name;
    if (!known) {
      std::string list;
      for (const std::string& name : names) list += (list.empty() ? "; it has " : ", ") + name + "=";
      fail(argument.name_range, node.text + " has no argument `" + argument.name + "=`" + list);
      return false;
    }
    for (size_t k = 0; k < i; ++k) {
      if (node.named[k].name != argument.name) continue;
      fail(argument.name_range, "`" + argument.name + "=` is given twice",
           {{node.named[k].name_range, "given here first"}});
      return false;
    }
  }
  return true;
}

Value KernelBuilder::cast(const ast::Expression& node, DType dtype) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 1, 1, (node.text + "(value)").c_str(), &a)) return Value::error();
  const Value& value = a[0].value;
  if (dtype == DType::kBool) {
    if (value.is_literal()) return fail(node.range, "a literal needs no cast to bool; write true or false");
    if (type_of(value).dtype == DType::kBool) return value;
    if (reject_storage_type("bool", a[0])) return Value::error();
    return compare(CompareFn::kNe, node.focus, a[0], {Value::int_literal(0), a[0].node});
  }
  if (value.kind == Value::Kind::kFloatLiteral && !dtype_is_float(dtype)) {
    return fail(node.range, "a float literal cast to " + std::string(dtype_name(dtype)) + "; write the integer");
  }
  if (value.is_literal()) {
    const int errors = diagnostics_.num_errors();
    const ValueId id = literal_as(value, dtype, a[0].node->range);
    return diagnostics_.num_errors() == errors ? Value::typed(id) : Value::error();
  }
  if (value.host && dtype == DType::kI64) return value;
  return Value::typed(builder_.cast(materialise(value), dtype));
}

Value KernelBuilder::unary_function(const ast::Expression& node, UnaryFn fn) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 1, 1, (node.text + "(x)").c_str(), &a)) return Value::error();
  return emit_unary(fn, node.focus, a[0]);
}

Value KernelBuilder::emit_unary(UnaryFn fn, SourceRange range, const Operand& a) {
  if (reject_storage_type(fn_text(fn), a)) return Value::error();
  const bool literal_float = a.value.kind == Value::Kind::kIntLiteral && *why_illegal_operand(fn, DType::kI64) != '\0';
  const DType dtype = literal_float ? DType::kF32 : type_of(a.value).dtype;
  const std::string expected = why_illegal_operand(fn, dtype);
  if (!expected.empty()) {
    const std::string mend = expected.find("float") != std::string::npos ? "; cast, as in f32(...)" : "";
    return fail(range, std::string(fn_text(fn)) + " takes " + expected + ", got " + describe(a.value) + mend);
  }
  return Value::typed(
      builder_.unary(fn, a.value.is_literal() ? literal_as(a.value, dtype, a.node->range) : materialise(a.value)));
}

}  // namespace kaon::compiler
