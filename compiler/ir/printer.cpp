// Writes a kernel as text: header lines, then one line per op, regions indented.
#include "compiler/ir/printer.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

constexpr const char* kStageNames[] = {"logical", "laid_out", "staged"};
constexpr const char* kAxisKindNames[] = {"tile", "full", "static"};
constexpr const char* kGuardKindNames[] = {"divisible", "equal", "at_most", "at_least", "congruent", "span_at_most"};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n')
      result += "\\n";
    else
      result += c;
  }
  return result + "\"";
}

std::string name_text(const std::string& name) { return is_plain_name(name) ? name : quoted(name); }

/// The shortest text that reads back as the same double, marked as a float by '.', 'e', "inf" or "nan".
std::string double_text(double value) {
  if (value != value) return "nan";
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  std::string text(buffer, error == std::errc() ? end : buffer);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), slots_(kernel.signature.slot_names()) {}

  std::string kernel() {
    text_ = "kernel " + name_text(kernel_.signature.kernel) + " {\n";
    depth_ = 1;
    line(std::string("stage ") + stage_name(kernel_.stage));
    signature();
    for (const Axis& axis : kernel_.axes) line(axis_line(axis));
    configuration();
    region(kernel_.body);
    return text_ + "}\n";
  }

  std::string op_line(const Op& op) const {
    std::string text;
    for (size_t i = 0; i < op.results.size(); ++i) text += (i > 0 ? ", " : "") + definition(op.results[i]);
    if (!op.results.empty()) text += " = ";
    text += op_info(op.kind).text;
    const bool is_access = is_memory_access(op);
    if (is_access) {
      text += ' ' + access_text(op);
      const AccessOperands operands = access_operands(op);
      const char* separator = " ";
      for (const ValueId value : {operands.value, operands.expected, operands.mask, operands.other}) {
        if (value == kNoValue) continue;
        text += separator + value_text(value);
        separator = ", ";
      }
    } else {
      for (size_t i = 0; i < op.operands.size(); ++i) text += (i > 0 ? ", " : " ") + value_text(op.operands[i]);
    }
    std::string attrs;
    for (const auto& [name, value] : op.attrs) {
      if (is_access && (name == "tensor" || name == "index")) continue;
      attrs += (attrs.empty() ? "" : ", ") + name_text(name) + " = " + attr_text(name, value);
    }
    return attrs.empty() ? text : text + " {" + attrs + "}";
  }

 private:
  void line(const std::string& content) { text_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + content + "\n"; }

  std::string expr_text(const Expr& expr) const { return expr.to_string(slots_); }
  bool is_value(ValueId value) const { return value >= 0 && value < static_cast<ValueId>(kernel_.values.size()); }

  std::string axes_list(const std::vector<int64_t>& axes) const {
    std::string text = "[";
    for (size_t i = 0; i < axes.size(); ++i) text += (i > 0 ? ", " : "") + axis_text(axes[i]);
    return text + "]";
  }
  std::string axis_text(int64_t axis) const {
    if (axis == kUnitAxis) return "1";
    const bool known = axis >= 0 && axis < static_cast<int64_t>(kernel_.axes.size());
    return known ? name_text(kernel_.axes[static_cast<size_t>(axis)].name) : "?" + std::to_string(axis);
  }

  std::string definition(ValueId value) const {
    if (!is_value(value)) return value_text(value) + ":?";
    const Type& type = kernel_.type(value);
    std::string text = value_text(value) + ":" + dtype_name(type.dtype);
    if (!type.is_scalar()) text += axes_list(std::vector<int64_t>(type.axes.begin(), type.axes.end()));
    const Layout& layout = kernel_.layout(value);
    return layout.empty() ? text : text + " @ " + layout.to_string();
  }

  void signature() {
    const Signature& signature = kernel_.signature;
    for (const std::string& dim : signature.dims) line("dim " + name_text(dim));
    for (const TensorParam& tensor : signature.tensors) line(tensor_line(tensor));
    for (size_t i = 0; i < signature.scalars.size(); ++i) {
      const ScalarParam& scalar = signature.scalars[i];
      const bool bound = i < kernel_.scalar_params.size();
      line("scalar " + name_text(scalar.name) + ": " + dtype_name(scalar.dtype) +
           (bound ? " = " + definition(kernel_.scalar_params[i]) : ""));
    }
    for (const Require& require : signature.requires_) {
      line("require " + expr_text(require.condition) + ", text " + quoted(require.text));
    }
  }

  std::string tensor_line(const TensorParam& tensor) const {
    std::string text = "tensor " + name_text(tensor.name) + ": " + dtype_name(tensor.dtype);
    if (!tensor.extents.empty()) {
      text += "[";
      for (size_t i = 0; i < tensor.extents.size(); ++i) text += (i > 0 ? ", " : "") + expr_text(tensor.extents[i]);
      text += "]";
    }
    std::vector<std::string> flags;
    if (!tensor.dtype_var.empty()) flags.push_back("generic " + name_text(tensor.dtype_var));
    if (tensor.is_output) flags.push_back("output");
    if (tensor.is_zeroed) flags.push_back("zeroed");
    if (!tensor.aliases.empty()) flags.push_back("alias " + name_text(tensor.aliases));
    for (size_t i = 0; i < flags.size(); ++i) text += (i > 0 ? ", " : " ") + flags[i];
    return text;
  }

  std::string axis_line(const Axis& axis) const {
    std::string text = "axis " + name_text(axis.name) + ": " + axis_kind_name(axis.kind);
    const bool is_tile = axis.kind == AxisKind::kTile;
    int64_t begin = 0;
    if (axis.begin_value != kNoValue) {
      text += " begin " + value_text(axis.begin_value) + ",";
    } else if (is_tile || !axis.begin.is_constant(&begin) || begin != 0) {
      text += " begin " + expr_text(axis.begin) + ",";
    }
    text += is_tile ? " end " : " extent ";
    text += axis.extent_value != kNoValue ? value_text(axis.extent_value) : expr_text(axis.extent);
    if (axis.fixed_block != 0) text += ", fixed_block " + std::to_string(axis.fixed_block);
    if (axis.block_axis != kUnitAxis) text += ", block_axis " + axis_text(axis.block_axis);
    if (axis.lengths != kNoValue) text += ", lengths " + value_text(axis.lengths);
    if (axis.block != 0) text += ", block " + std::to_string(axis.block);
    if (axis.origin != kNoValue) text += ", origin " + value_text(axis.origin);
    return text;
  }

  std::string slot_text(int slot) const {
    return slot < static_cast<int>(slots_.size()) ? name_text(slots_[static_cast<size_t>(slot)]) : std::to_string(slot);
  }

  void configuration() {
    if (!kernel_.config.values().empty()) line("config " + kernel_.config.to_json());
    if (kernel_.num_warps != 0) line("num_warps " + std::to_string(kernel_.num_warps));
    for (const Guard& guard : kernel_.guards) {
      line(std::string("guard ") + guard_kind_name(guard.kind) + " " + slot_text(guard.slot) +
           (guard.kind == GuardKind::kCongruent ? " " + slot_text(guard.other) : "") + " " +
           std::to_string(guard.value));
    }
    for (const SharedBuffer& buffer : kernel_.shared_buffers) {
      line("shared " + name_text(buffer.name) + " bytes " + std::to_string(buffer.bytes) + ", offset " +
           std::to_string(buffer.offset));
    }
    if (!kernel_.plan.steps.empty()) line(plan_line(kernel_.plan));
  }

  std::string plan_line(const LaunchPlan& plan) const {
    std::string steps;
    for (const LaunchStep& step : plan.steps) {
      const bool is_kernel = step.kind == StepKind::kKernel;
      steps += (steps.empty() ? "" : ", ") + (is_kernel ? std::string("kernel") : "zero " + tensor_text(step.tensor));
    }
    return "plan programs " + expr_text(plan.programs) + ", threads " + std::to_string(plan.threads) + ", shared " +
           std::to_string(plan.shared_bytes) + ", cluster " + std::to_string(plan.cluster) + ", steps [" + steps + "]";
  }

  std::string tensor_text(int64_t tensor) const {
    const bool known = tensor >= 0 && tensor < kernel_.signature.num_tensors();
    return known ? name_text(kernel_.signature.tensors[static_cast<size_t>(tensor)].name) : std::to_string(tensor);
  }

  /// True when the op prints as `load x[...]`: its attributes say what is accessed.
  bool is_memory_access(const Op& op) const {
    if (!is_access(op.kind)) return false;
    const Attr* index = op.find_attr("index");
    const Attr* tensor = op.find_attr("tensor");
    return index && std::get_if<std::vector<Indexer>>(index) && tensor && std::get_if<int64_t>(tensor) &&
           (op.kind == OpKind::kLoad || !op.operands.empty());
  }

  std::string access_text(const Op& op) const {
    std::string text = tensor_text(op.int_attr("tensor")) + "[";
    const std::vector<Indexer>& index = op.index_attr("index");
    for (size_t i = 0; i < index.size(); ++i) {
      const Indexer& indexer = index[i];
      const bool has_operand = indexer.operand >= 0 && indexer.operand < static_cast<int>(op.operands.size());
      const std::string operand = has_operand ? value_text(op.operands[static_cast<size_t>(indexer.operand)]) : "%?";
      if (i > 0) text += ", ";
      switch (indexer.kind) {
        case Indexer::Kind::kAxis:
          text += axis_text(indexer.axis) + (indexer.operand >= 0 ? " + " + operand : "");
          break;
        case Indexer::Kind::kScalar: text += operand; break;
        case Indexer::Kind::kTile: text += "gather " + operand; break;
      }
    }
    return text + "]";
  }

  std::string attr_text(const std::string& name, const Attr& attr) const {
    if (const auto* integer = std::get_if<int64_t>(&attr)) {
      if (name == "axis") return axis_text(*integer);
      if (name == "tensor") return tensor_text(*integer);
      const auto& buffers = kernel_.shared_buffers;
      const bool is_buffer = name == "buffer" && *integer >= 0 && *integer < static_cast<int64_t>(buffers.size());
      return is_buffer ? name_text(buffers[static_cast<size_t>(*integer)].name) : std::to_string(*integer);
    }
    if (const auto* number = std::get_if<double>(&attr)) return double_text(*number);
    if (const auto* text = std::get_if<std::string>(&attr)) return quoted(*text);
    if (const auto* expr = std::get_if<Expr>(&attr)) return "expr(" + expr_text(*expr) + ")";
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attr)) {
      if (name == "axes") return axes_list(*list);
      std::string text = "[";
      for (size_t i = 0; i < list->size(); ++i) text += (i > 0 ? ", " : "") + std::to_string((*list)[i]);
      return text + "]";
    }
    return "<indexers>";
  }

  /// Source names of results and of the first region's arguments, or nothing when none has one.
  std::string names_comment(const Op& op) const {
    std::vector<ValueId> defined = op.results;
    if (!op.regions.empty()) {  // those of a second region come too late for whoever reads the line
      defined.insert(defined.end(), op.regions[0].args.begin(), op.regions[0].args.end());
    }
    std::string text;
    bool any = false;
    for (ValueId value : defined) {
      const std::string name = is_value(value) ? kernel_.values[static_cast<size_t>(value)].name : "";
      any = any || !name.empty();
      text += (text.empty() ? "" : ", ") + (name.empty() ? "_" : name_text(name));
    }
    return any ? "  # " + text : "";
  }

  std::string args_text(const Region& region) const {
    if (region.args.empty()) return "";
    std::string text = "(";
    for (size_t i = 0; i < region.args.size(); ++i) text += (i > 0 ? ", " : "") + definition(region.args[i]);
    return text + ") ";
  }

  void region(const Region& region) {
    for (const auto& op : region.ops) print_op_with_regions(*op);
  }

  void print_op_with_regions(const Op& op) {
    std::string head = op_line(op);
    if (!op.regions.empty()) head += " " + args_text(op.regions[0]) + "{";
    line(head + names_comment(op));
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (i > 0) line("} else " + args_text(op.regions[i]) + "{");
      ++depth_;
      region(op.regions[i]);
      --depth_;
    }
    if (!op.regions.empty()) line("}");
  }

  const Kernel& kernel_;
  const std::vector<std::string> slots_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

const char* stage_name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }
const char* axis_kind_name(AxisKind kind) { return kAxisKindNames[static_cast<size_t>(kind)]; }
const char* guard_kind_name(GuardKind kind) { return kGuardKindNames[static_cast<size_t>(kind)]; }

std::string print(const Kernel& kernel) { return Printer(kernel).kernel(); }

std::string print_op(const Kernel& kernel, const Op& op) { return Printer(kernel).op_line(op); }

}  // namespace kaon::compiler
