// Values, axes, types, layouts and expressions of the textual IR.
#include "compiler/ir/parse_context.h"

namespace kaon::compiler {
namespace {

// A number beyond any real kernel's, so that a typo does not allocate gigabytes.
constexpr int64_t kMaxValues = 1 << 20;

void append(std::vector<ExprStep>* steps, const std::vector<ExprStep>& operand, ExprOp op) {
  steps->insert(steps->end(), operand.begin(), operand.end());
  steps->push_back({op, 0});
}

bool parse_expr_function(const std::string& name, ExprOp* op) {
  static const std::map<std::string, ExprOp> functions = {{"floor_div", ExprOp::kFloorDiv},
                                                          {"ceil_div", ExprOp::kCeilDiv},
                                                          {"mod", ExprOp::kMod},
                                                          {"min", ExprOp::kMin},
                                                          {"max", ExprOp::kMax}};
  const auto it = functions.find(name);
  if (it == functions.end()) return false;
  *op = it->second;
  return true;
}

}  // namespace

ValueId ParseContext::value() {
  const std::string& text = in.peek().text;
  if (!in.ok() || !at_value() || text.size() > 9 || std::stoll(text) >= kMaxValues) {
    in.fail(at_value() ? "a value below %" + std::to_string(kMaxValues) : "a value");
    return kNoValue;
  }
  const auto id = static_cast<ValueId>(std::stoll(in.take().text));
  if (id >= static_cast<ValueId>(kernel.values.size())) kernel.values.resize(static_cast<size_t>(id) + 1);
  return id;
}

ValueId ParseContext::definition() {
  const size_t start = in.position();
  const ValueId id = value();
  if (!in.ok()) return id;
  is_defined_.resize(kernel.values.size(), false);
  if (is_defined_[static_cast<size_t>(id)]) {
    in.fail_at(start, "value %" + std::to_string(id) + " is defined a second time");
    return id;
  }
  is_defined_[static_cast<size_t>(id)] = true;
  in.expect(":");
  Type parsed = type();
  kernel.values[static_cast<size_t>(id)].type = std::move(parsed);
  if (in.accept("@")) layout(id);
  return id;
}

void ParseContext::layout(ValueId id) {
  const size_t start = in.position();
  const size_t begin = in.peek().begin;
  size_t end = begin;
  in.expect("[");
  while (in.ok() && !in.at("]") && in.peek().kind != TokenKind::kEnd) in.take();
  in.expect("]");
  in.expect("warps");
  end = in.peek().end;
  in.expect_integer("a number of warps");
  if (in.accept("blocks")) {
    end = in.peek().end;
    in.expect_integer("a number of blocks");
  }
  if (!in.ok()) return;
  std::string why;
  if (!parse_layout(std::string(in.text(begin, end)), &kernel.layout(id), &why)) in.fail_at(start, why);
}

AxisId ParseContext::axis() {
  if (in.peek().kind == TokenKind::kNumber && in.peek().text == "1") {
    in.take();
    return kUnitAxis;
  }
  const size_t start = in.position();
  const std::string name = in.expect_name("an axis");
  const auto it = axes_by_name_.find(name);
  if (it == axes_by_name_.end()) {
    in.fail_at(start, "no axis is named " + name);
    return kUnitAxis;
  }
  return it->second;
}

std::vector<int64_t> ParseContext::axes_list() {
  std::vector<int64_t> list;
  in.expect("[");
  if (in.accept("]")) return list;
  do {
    list.push_back(axis());
  } while (in.accept(","));
  in.expect("]");
  return list;
}

DType ParseContext::dtype() {
  DType result = DType::kF32;
  if (in.peek().kind == TokenKind::kName && parse_dtype(in.peek().text, &result)) {
    in.take();
  } else {
    in.fail("an element type");
  }
  return result;
}

Type ParseContext::type() {
  Type result;
  result.dtype = dtype();
  if (!in.at("[")) return result;
  for (int64_t axis : axes_list()) result.axes.push_back(static_cast<AxisId>(axis));
  return result;
}

void ParseContext::add_axis(Axis axis, size_t token_position) {
  const std::string name = axis.name;
  if (!axes_by_name_.emplace(name, static_cast<AxisId>(kernel.axes.size())).second) {
    in.fail_at(token_position, "axis " + name + " is declared a second time");
  }
  kernel.new_axis(std::move(axis));
}

void ParseContext::know_slots() {
  const std::vector<std::string> names = kernel.signature.slot_names();
  for (size_t i = 0; i < names.size(); ++i) slots_by_name_.emplace(names[i], static_cast<int>(i));
}

Expr ParseContext::expr() {
  const size_t start = in.position();
  Expr result = Expr::from_steps(sum());
  if (in.ok()) {
    Status valid = validate(result.view(), kernel.signature.num_slots());
    if (!valid) in.fail_at(start, valid.message());
  }
  return result;
}

std::vector<ExprStep> ParseContext::sum() {
  std::vector<ExprStep> steps = product();
  while (in.ok() && (in.at("+") || in.at("-"))) {
    const ExprOp op = in.take().text == "+" ? ExprOp::kAdd : ExprOp::kSub;
    append(&steps, product(), op);
  }
  return steps;
}

std::vector<ExprStep> ParseContext::product() {
  std::vector<ExprStep> steps = atom();
  while (in.accept("*")) append(&steps, atom(), ExprOp::kMul);
  return steps;
}

std::vector<ExprStep> ParseContext::atom() {
  if (in.accept("(")) {
    std::vector<ExprStep> steps = sum();
    in.expect(")");
    return steps;
  }
  if (in.at_number() && in.peek().kind != TokenKind::kName) return {{ExprOp::kConst, in.expect_integer("an integer")}};
  const size_t start = in.position();
  const std::string name = in.expect_name("a number, a slot of the call or a function");
  ExprOp function = ExprOp::kMin;
  if (in.at("(") && parse_expr_function(name, &function)) {
    in.take();
    std::vector<ExprStep> steps = sum();
    in.expect(",");
    append(&steps, sum(), function);
    in.expect(")");
    return steps;
  }
  const auto slot = slots_by_name_.find(name);
  if (slot == slots_by_name_.end()) {
    in.fail_at(start, "no slot of the call is named " + name);
    return {{ExprOp::kConst, 0}};
  }
  return {{ExprOp::kSlot, slot->second}};
}

}  // namespace kaon::compiler
