// Walks a kernel once with the values and tile axes that are in scope.
#include "compiler/ir/verifier.h"

#include <algorithm>
#include <set>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/bug.h"
#include "compiler/ir/combine.h"
#include "compiler/ir/fetch_ahead.h"
#include "compiler/ir/jagged.h"
#include "compiler/ir/layout_rules.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/type_rules.h"
#include "compiler/ir/updates.h"

namespace kaon::compiler {
namespace {

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel),
        is_defined_(kernel.values.size(), false),
        is_visible_(kernel.values.size(), false),
        is_bound_(kernel.axes.size(), false) {}

  Status run() {
    Status status = check_kernel();
    if (status) status = check_structure();
    if (status) status = region(kernel_.body, nullptr);
    if (status) status = check_updates();
    if (status) return status;
    const std::string op = failed_op_ ? print_op(kernel_, *failed_op_) + ": " : "";
    return bug(std::string("verify: ") + stage_name(kernel_.stage) + ": " + op + status.message());
  }

 private:
  bool has_layouts() const { return kernel_.stage != Stage::kLogical; }

  // -- what the kernel says before its ops

  Status check_kernel() {
    const Signature& signature = kernel_.signature;
    if (kernel_.scalar_params.size() != signature.scalars.size()) {
      return bug("expected " + std::to_string(signature.scalars.size()) + " scalar parameters, got " +
                 std::to_string(kernel_.scalar_params.size()));
    }
    for (size_t i = 0; i < signature.scalars.size(); ++i) {
      const ValueId value = kernel_.scalar_params[i];
      KAON_RETURN_IF_ERROR(define(value));
      const Type expected{signature.scalars[i].dtype, {}};
      if (kernel_.type(value) != expected) {
        return bug("scalar parameter " + signature.scalars[i].name + ": expected " + type_text(kernel_, expected) +
                   ", got " + type_text(kernel_, kernel_.type(value)));
      }
    }
    if (has_layouts() && (kernel_.num_warps < 1 || kernel_.num_warps > 256)) {
      return bug("num_warps: expected 1 to 256, got " + std::to_string(kernel_.num_warps));
    }
    for (const SharedBuffer& buffer : kernel_.shared_buffers) {
      if (buffer.offset % 16 != 0) {
        return bug("shared buffer " + buffer.name + ": expected a 16-byte aligned offset, got " +
                   std::to_string(buffer.offset));
      }
    }
    std::set<std::string> names;
    for (const Axis& axis : kernel_.axes) {
      if (!names.insert(axis.name).second) return bug("two axes are named " + axis.name);
      KAON_RETURN_IF_ERROR(check_axis(axis));
    }
    return Status::ok();
  }

  Status check_axis(const Axis& axis) {
    for (const Expr* expr : {&axis.begin, &axis.extent}) {
      Status valid = validate(expr->view(), kernel_.signature.num_slots());
      if (!valid) return bug("axis " + axis.name + ": " + valid.message());
    }
    for (ValueId value : {axis.begin_value, axis.extent_value}) {
      if (value == kNoValue) continue;
      if (!is_value(value)) return bug("axis " + axis.name + ": bound " + value_text(value) + " is no value");
      if (kernel_.type(value) != Type{DType::kI64, {}}) {
        return bug("axis " + axis.name + ": bound " + value_text(value) + ": expected i64, got " +
                   type_text(kernel_, kernel_.type(value)));
      }
    }
    if (axis.origin != kNoValue && (!is_value(axis.origin) || kernel_.type(axis.origin).dtype != DType::kI64)) {
      return bug("axis " + axis.name + ": origin " + value_text(axis.origin) + " is no i64 value");
    }
    if (axis.lengths != kNoValue &&
        (axis.kind != AxisKind::kTile || !is_value(axis.lengths) || kernel_.type(axis.lengths).dtype != DType::kI64 ||
         kernel_.type(axis.lengths).is_scalar())) {
      return bug("axis " + axis.name + ": lengths " + value_text(axis.lengths) + " is no i64 tile of a tile axis");
    }
    if (axis.fixed_block != 0 && axis.kind != AxisKind::kTile) {
      return bug("axis " + axis.name + ": only a tile axis has a fixed block, got " + std::to_string(axis.fixed_block));
    }
    if (axis.block_axis != kUnitAxis) {
      const auto id = static_cast<AxisId>(&axis - kernel_.axes.data());
      const auto count = static_cast<AxisId>(kernel_.axes.size());
      const bool is_own = axis.block_axis == id && axis.kind == AxisKind::kStatic;
      const bool runs_by = axis.block_axis >= 0 && axis.block_axis < count && axis.kind == AxisKind::kTile &&
                           is_block(kernel_.axis(axis.block_axis));
      if (!is_own && !runs_by) return bug("axis " + axis.name + ": its block_axis is no registered block");
      if (axis.fixed_block != 0) return bug("axis " + axis.name + ": a registered block and a fixed one");
    }
    if (axis.block < 0 || axis.fixed_block < 0) return bug("axis " + axis.name + ": negative block");
    return Status::ok();
  }

  Status check_structure() {
    int outermost = 0;
    for (const auto& op : kernel_.body.ops) {
      if (op->kind == OpKind::kTile || op->kind == OpKind::kGrid) {
        ++outermost;
        has_grid_ = has_grid_ || op->kind == OpKind::kGrid;
        if (!op->operands.empty()) return fail(*op, "the outermost loop carries no values");
      } else if (!op_info(op->kind).pure) {
        return fail(*op, "only pure ops stand outside the outermost tile or grid");
      }
    }
    if (outermost == 1) return Status::ok();
    return bug("expected one outermost tile or grid, got " + std::to_string(outermost));
  }

  /// Of a kernel whose ops are right.
  Status check_updates() {
    for (const auto& op : kernel_.body.ops) {
      if (op->kind != OpKind::kTile && op->kind != OpKind::kGrid) continue;
      for (const int64_t axis : op->ints_attr("axes")) {
        if (updates_are_apart(kernel_, op->regions[0], static_cast<AxisId>(axis))) continue;
        return fail(*op, "programs of different " + kernel_.axis(static_cast<AxisId>(axis)).name +
                             " would update the same elements");
      }
    }
    return Status::ok();
  }

  // -- scopes

  bool is_value(ValueId value) const { return value >= 0 && value < static_cast<ValueId>(kernel_.values.size()); }

  Status fail(const Op& op, const std::string& message) {
    failed_op_ = &op;
    return bug(message);
  }

  Status define(ValueId value) {
    if (!is_value(value)) return bug(value_text(value) + " is no value of the kernel");
    const auto index = static_cast<size_t>(value);
    if (is_defined_[index]) return bug(value_text(value) + " is defined a second time");
    is_defined_[index] = is_visible_[index] = true;
    visible_.push_back(value);
    return check_axes_in_scope(kernel_.type(value), value);
  }

  Status check_axes_in_scope(const Type& type, ValueId value) {
    for (AxisId axis : type.axes) {
      if (axis == kUnitAxis) continue;
      if (axis < 0 || axis >= static_cast<AxisId>(kernel_.axes.size())) {
        return bug(value_text(value) + " has axis " + std::to_string(axis) + ", which does not exist");
      }
      KAON_RETURN_IF_ERROR(check_axis_in_scope(axis));
    }
    return Status::ok();
  }

  Status check_axis_in_scope(AxisId id) {
    const Axis& axis = kernel_.axis(id);
    if (axis.kind == AxisKind::kTile) {
      return is_bound_[static_cast<size_t>(id)] ? Status::ok()
                                                : bug("axis " + axis.name + " is used outside the loop over it");
    }
    return check_bounds_visible(axis);
  }

  Status check_bounds_visible(const Axis& axis) {
    for (ValueId bound : {axis.begin_value, axis.extent_value, axis.lengths}) {
      if (bound != kNoValue && !is_visible_[static_cast<size_t>(bound)]) {
        return bug("axis " + axis.name + ": bound " + value_text(bound) + " is not defined here");
      }
    }
    return Status::ok();
  }

  // -- ops

  Status region(const Region& region, const Op* parent) {
    const size_t outer_visible = visible_.size();
    for (ValueId arg : region.args) {
      Status defined = define(arg);
      if (defined && has_layouts()) defined = check_value_layout(kernel_, arg, {});
      if (!defined) return fail(*parent, "argument: " + defined.message());
    }
    for (size_t i = 0; i < region.ops.size(); ++i) {
      const Op& op = *region.ops[i];
      Status checked = op.kind == OpKind::kYield && (!parent || i + 1 != region.ops.size())
                           ? bug("yield must be the last op of a region")
                           : check_op(op, parent);
      if (!checked) {
        if (!failed_op_) failed_op_ = &op;
        return checked;
      }
    }
    for (size_t i = outer_visible; i < visible_.size(); ++i) is_visible_[static_cast<size_t>(visible_[i])] = false;
    visible_.resize(outer_visible);
    return parent ? check_yield(region, *parent) : Status::ok();
  }

  Status check_op(const Op& op, const Op* parent) {
    const OpInfo& info = op_info(op.kind);
    if (kernel_.stage < info.first || kernel_.stage > info.last) {
      return bug(std::string(info.text) + " belongs to stages " + stage_name(info.first) + " to " +
                 stage_name(info.last));
    }
    KAON_RETURN_IF_ERROR(check_counts(op, info));
    for (ValueId operand : op.operands) {
      if (!is_value(operand)) return bug(value_text(operand) + " is no value of the kernel");
      if (!is_visible_[static_cast<size_t>(operand)]) return bug(value_text(operand) + " is not defined here");
    }
    std::set<std::string> names;
    for (const auto& [name, value] : op.attrs) {
      if (!names.insert(name).second) return bug("attribute " + name + " is given twice");
    }
    KAON_RETURN_IF_ERROR(info.regions > 0 ? check_control(op, parent) : check_simple(op));
    for (ValueId result : op.results) KAON_RETURN_IF_ERROR(define(result));
    return has_layouts() ? check_layouts(op) : Status::ok();
  }

  static Status check_counts(const Op& op, const OpInfo& info) {
    auto check = [](const char* what, int expected, size_t got) {
      if (expected < 0 || static_cast<size_t>(expected) == got) return Status::ok();
      return bug(std::string("expected ") + std::to_string(expected) + " " + what + ", got " + std::to_string(got));
    };
    KAON_RETURN_IF_ERROR(check("operands", info.operands, op.operands.size()));
    KAON_RETURN_IF_ERROR(check("results", info.results, op.results.size()));
    return check("regions", info.regions, op.regions.size());
  }

  Status check_simple(const Op& op) {
    if (op.kind == OpKind::kStore) {
      KAON_RETURN_IF_ERROR(check_store(kernel_, op));
      KAON_RETURN_IF_ERROR(check_access_operands(op, kernel_.type(op.operands[0])));
      return check_axes_in_scope(kernel_.type(op.operands[0]), op.operands[0]);
    }
    if (op.kind == OpKind::kAssert && kernel_.type(op.operands[0]).dtype != DType::kBool) {
      return bug("condition: expected a bool, got " + type_text(kernel_, kernel_.type(op.operands[0])));
    }
    if (op.kind == OpKind::kSharedStore) {
      const int64_t buffer = op.int_attr("buffer", -1);
      const auto count = static_cast<int64_t>(kernel_.shared_buffers.size());
      return buffer >= 0 && buffer < count ? Status::ok()
                                           : bug("attribute buffer: no shared buffer " + std::to_string(buffer));
    }
    if (op.results.empty()) return Status::ok();
    if (!is_value(op.result())) return bug(value_text(op.result()) + " is no value of the kernel");
    const Type& got = kernel_.type(op.result());
    KAON_ASSIGN_OR_RETURN(Type expected, result_type(kernel_, op, got));
    if (got != expected) {
      return bug("result: expected " + type_text(kernel_, expected) + ", got " + type_text(kernel_, got));
    }
    if (op.kind == OpKind::kAxisInfo) return check_axis_in_scope(static_cast<AxisId>(op.int_attr("axis")));
    return is_access(op.kind) ? check_access_operands(op, got) : Status::ok();
  }

  /// Every operand between the values and the mask is read by exactly one indexer, in order: texts name operands by
  /// their place. A mask has the access's axes, what stands for masked lanes its type.
  Status check_access_operands(const Op& op, const Type& accessed) const {
    const AccessOperands operands = access_operands(op);
    int next = operands.first_index;
    for (const Indexer& indexer : op.index_attr("index")) {
      if (indexer.operand >= 0 && indexer.operand != next++) return bug("indexers must read the operands in order");
    }
    const int got = operands.first_index + operands.num_index;
    if (next != got) {
      return bug("expected " + std::to_string(next) + " operands up to the indexers', got " + std::to_string(got));
    }
    const Type mask{DType::kBool, accessed.axes};
    if (operands.mask != kNoValue && kernel_.type(operands.mask) != mask) {
      return bug("mask: expected " + type_text(kernel_, mask) + ", got " +
                 type_text(kernel_, kernel_.type(operands.mask)));
    }
    if (operands.other == kNoValue) return Status::ok();
    if (operands.mask == kNoValue) return bug("attribute other: only a masked load has lanes that it stands for");
    if (kernel_.type(operands.other) == accessed) return Status::ok();
    return bug("other: expected " + type_text(kernel_, accessed) + ", got " +
               type_text(kernel_, kernel_.type(operands.other)));
  }

  Status check_control(const Op& op, const Op* parent) {
    if (is_combining(op.kind)) {
      KAON_RETURN_IF_ERROR(check_combining(kernel_, op));
      return region(op.regions[0], &op);
    }
    if (op.kind == OpKind::kIf) {
      const Type condition{DType::kBool, {}};
      if (kernel_.type(op.operands[0]) != condition) {
        return bug("condition: expected bool, got " + type_text(kernel_, kernel_.type(op.operands[0])));
      }
      for (const Region& branch : op.regions) {
        if (!branch.args.empty()) return bug("a branch has no arguments, got " + std::to_string(branch.args.size()));
        KAON_RETURN_IF_ERROR(region(branch, &op));
      }
      return Status::ok();
    }
    if (op.kind == OpKind::kWhile) return check_while(op);
    if (op.kind == OpKind::kGrid && parent) return bug("a grid stands outside every other op");
    if (op.kind == OpKind::kTile && has_grid_) return bug("a kernel with a grid has loops, no tiles");
    if (op.kind == OpKind::kLoop && !has_grid_) return bug("a loop stands inside a grid");
    return check_loop(op);
  }

  Status check_while(const Op& op) {
    const size_t count = op.operands.size();
    if (op.results.size() != count) {
      return bug("expected " + std::to_string(count) + " results as there are operands, got " +
                 std::to_string(op.results.size()));
    }
    for (const Region& part : op.regions) {
      if (part.args.size() != count) {
        return bug("expected " + std::to_string(count) + " arguments as there are operands, got " +
                   std::to_string(part.args.size()));
      }
      for (size_t i = 0; i < count; ++i) {
        KAON_RETURN_IF_ERROR(check_carried(op.operands[i], part.args[i], "argument"));
      }
    }
    for (size_t i = 0; i < count; ++i) KAON_RETURN_IF_ERROR(check_carried(op.operands[i], op.results[i], "result"));
    KAON_RETURN_IF_ERROR(region(op.regions[0], &op));
    return region(op.regions[1], &op);
  }

  /// The first region of a `while` yields whether its second runs.
  Status check_test(const std::vector<ValueId>& yields, const Op& op) {
    if (yields.size() != 1) return fail(op, "test: expected a yield of one bool, got " + std::to_string(yields.size()));
    if (kernel_.type(yields[0]) == Type{DType::kBool, {}}) return Status::ok();
    return fail(op, "test: expected a yield of bool, got " + type_text(kernel_, kernel_.type(yields[0])));
  }

  Status check_loop(const Op& op) {
    std::vector<int64_t> axes = op.ints_attr("axes");
    if (op.kind == OpKind::kLoop) axes = {op.int_attr("axis", kUnitAxis)};
    if (axes.empty()) return bug("expected at least one axis");
    const size_t count = op.operands.size();
    if (op.results.size() != count || op.regions[0].args.size() != count) {
      return bug("expected " + std::to_string(count) + " results and arguments as there are operands, got " +
                 std::to_string(op.results.size()) + " and " + std::to_string(op.regions[0].args.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      KAON_RETURN_IF_ERROR(check_carried(op.operands[i], op.regions[0].args[i], "argument"));
      KAON_RETURN_IF_ERROR(check_carried(op.operands[i], op.results[i], "result"));
    }
    for (int64_t axis : axes) KAON_RETURN_IF_ERROR(bind(axis));
    KAON_RETURN_IF_ERROR(region(op.regions[0], &op));
    for (int64_t axis : axes) is_bound_[static_cast<size_t>(axis)] = false;
    return op.kind == OpKind::kLoop ? check_schedule(kernel_, op) : Status::ok();
  }

  Status check_carried(ValueId init, ValueId value, const char* what) const {
    if (!is_value(value)) return bug(std::string(what) + " " + value_text(value) + " is no value of the kernel");
    if (kernel_.type(value) != kernel_.type(init)) {
      return bug(std::string(what) + " " + value_text(value) + ": expected " + type_text(kernel_, kernel_.type(init)) +
                 ", got " + type_text(kernel_, kernel_.type(value)));
    }
    if (has_layouts() && kernel_.layout(value) != kernel_.layout(init)) {
      return bug(std::string(what) + " " + value_text(value) + ": layout differs from that of " + value_text(init));
    }
    return Status::ok();
  }

  Status bind(int64_t id) {
    if (id < 0 || id >= static_cast<int64_t>(kernel_.axes.size()))
      return bug("axis " + std::to_string(id) + " does not exist");
    const Axis& axis = kernel_.axes[static_cast<size_t>(id)];
    if (axis.kind != AxisKind::kTile)
      return bug("axis " + axis.name + ": expected a tile axis, got a " + axis_kind_name(axis.kind) + " one");
    if (is_bound_[static_cast<size_t>(id)]) return bug("axis " + axis.name + " is looped over inside its own loop");
    KAON_RETURN_IF_ERROR(check_bounds_visible(axis));
    for (AxisId parent : parents_of(kernel_, static_cast<AxisId>(id))) {
      if (parent != kUnitAxis && kernel_.axis(parent).kind == AxisKind::kTile) continue;
      return bug("axis " + axis.name + ": lengths " + value_text(axis.lengths) + " must run over tile axes, got " +
                 type_text(kernel_, kernel_.type(axis.lengths)));
    }
    is_bound_[static_cast<size_t>(id)] = true;
    return Status::ok();
  }

  Status check_yield(const Region& region, const Op& op) {
    if (is_combining(op.kind)) return Status::ok();  // its own rule has seen to it
    const bool has_yield = !region.ops.empty() && region.ops.back()->kind == OpKind::kYield;
    const std::vector<ValueId> none;
    const std::vector<ValueId>& yields = has_yield ? region.ops.back()->operands : none;
    if (op.kind == OpKind::kWhile && &region == &op.regions[0]) return check_test(yields, op);
    if (yields.size() != op.results.size()) {
      return fail(op, "expected a yield of " + std::to_string(op.results.size()) + " values, got " +
                          std::to_string(yields.size()));
    }
    for (size_t i = 0; i < yields.size(); ++i) {
      Status same = check_carried(op.results[i], yields[i], "value");
      if (!same) return fail(op, "yield: " + same.message());
    }
    return Status::ok();
  }

  Status check_layouts(const Op& op) {
    const bool is_step = op.kind == OpKind::kReduceThread || op.kind == OpKind::kReduceLanes;
    const std::vector<int64_t> folded = is_step ? op.ints_attr("dims") : std::vector<int64_t>();
    for (ValueId result : op.results) KAON_RETURN_IF_ERROR(check_value_layout(kernel_, result, folded));
    return check_op_layouts(kernel_, op);
  }

  const Kernel& kernel_;
  std::vector<bool> is_defined_;  // anywhere before
  std::vector<bool> is_visible_;  // in the regions around here
  std::vector<bool> is_bound_;    // tile axes whose loop is around here
  std::vector<ValueId> visible_;
  bool has_grid_ = false;
  const Op* failed_op_ = nullptr;
};

}  // namespace

Status verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace kaon::compiler
