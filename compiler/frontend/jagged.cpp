// jagged_tile(lengths): loops over rows that end at different places, and what a value along such a row may do.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/jagged.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {

bool KernelBuilder::jagged_axis(const ast::Statement& statement, std::vector<AxisId>* axes) {
  const ast::Expression& call = *statement.value;
  if (loop_depth_ == 0) {
    fail(call.focus,
         "jagged_tile cannot be the outermost loop: each lane of a tile around it has a row of its own; put it inside "
         "`for b in tile(B) { ... }`");
    return false;
  }
  if (statement.names.size() != 1) {
    fail(statement.names[1].range, "jagged_tile has one tile variable, got " + std::to_string(statement.names.size()) +
                                       "; nest a second jagged_tile in the first");
    return false;
  }
  if (call.children.size() != 1) {
    fail(call.range, "jagged_tile takes the tile of lengths, got " + std::to_string(call.children.size()) +
                         " arguments; rows begin at 0, so add their first element to " + statement.names[0].text +
                         ".index where they are read");
    return false;
  }
  std::vector<TileSize> sizes;
  if (!only_named(call, {"block"}) || !tile_blocks(call, 1, &sizes)) return false;
  const std::optional<ValueId> lengths = jagged_lengths(*call.children[0]);
  if (!lengths) return false;
  builder_.set_range(call.range);
  std::vector<int64_t> dims(kernel_.type(*lengths).axes.size());
  std::iota(dims.begin(), dims.end(), int64_t{0});
  const ValueId longest = builder_.reduce(ReduceFn::kMax, *lengths, dims, /*keepdim=*/false);
  Axis axis;
  axis.kind = AxisKind::kTile;
  axis.fixed_block = sizes[0].fixed;
  axis.block_axis = sizes[0].block;
  axis.lengths = *lengths;
  axis.extent_value = builder_.binary(BinaryFn::kMax, longest, builder_.int_const(DType::kI64, 0));
  axis.name = unique_axis_name(statement.names[0].text);
  ranges_.push_back({HostInt(0), std::nullopt});
  axes->push_back(kernel_.new_axis(axis));
  return true;
}

// The lengths as i64, or a message why this is no tile of lengths.
std::optional<ValueId> KernelBuilder::jagged_lengths(const ast::Expression& node) {
  const Operand operand{expression(node), &node};
  if (operand.value.is_error() || !require_number(operand)) return std::nullopt;
  const Type type = type_of(operand.value);
  const auto refuse = [&](const std::string& message) {
    fail(node.range, message);
    return std::nullopt;
  };
  if (operand.value.is_literal() || type.is_scalar()) {
    return refuse("jagged_tile takes a tile of lengths, one for each lane of a tile variable, got " +
                  describe(operand.value) + "; a bound that all lanes share is tile(...)'s");
  }
  if (!dtype_is_int(type.dtype)) {
    return refuse("lengths are integers, got " + describe(operand.value) + "; cast, as in i64(...)");
  }
  for (AxisId axis : type.axes) {
    if (axis == kUnitAxis) {
      return refuse("the lengths, " + describe(operand.value) +
                    ", have an axis of extent 1; pass them along tile variables only, without `None`");
    }
    if (kernel_.axis(axis).kind == AxisKind::kTile) continue;
    return refuse("axis " + describe_axis(axis) + " of the lengths is no tile variable; every axis comes from a tile " +
                  "around the loop, so walk it with `for i in tile(...)`");
  }
  if (lacks_parent(node.range, "these lengths", type.axes)) return std::nullopt;
  return builder_.cast(materialise(operand.value), DType::kI64);
}

// tile(amax(lengths)), just built, is what jagged_tile(lengths) is for; with the bound in a `let` it is taken as meant.
void KernelBuilder::warn_longest_row(const ast::Expression& bound) {
  const auto& ops = builder_.region().ops;
  if (bound.kind != ast::ExpressionKind::kCall || bound.text != "amax" || builder_.position() == 0) return;
  const Op& fold = *ops[builder_.position() - 1];
  if (fold.kind != OpKind::kReduce) return;
  for (AxisId axis : kernel_.type(fold.operands[0]).axes) {
    if (axis == kUnitAxis || kernel_.axis(axis).kind != AxisKind::kTile) return;
  }
  diagnostics_.warning(bound.range,
                       "every row is walked to the end of the longest and needs a mask; jagged_tile(lengths) masks by "
                       "itself, and if this is meant, name the bound with `let` first");
}

bool KernelBuilder::lacks_parent(SourceRange range, const std::string& what, const std::vector<AxisId>& axes) {
  AxisId parent = kUnitAxis;
  const AxisId axis = axis_without_parent(kernel_, axes, &parent);
  if (axis == kUnitAxis) return false;
  const std::string& name = kernel_.axis(axis).name;
  const std::string& over = kernel_.axis(parent).name;
  fail(range, what + " would be along " + name + " without " + over + ", but " + name +
                  " ends elsewhere for each lane of " + over + "; index with both, as in x[" + over + ", " + name +
                  "], or x[starts[:, None] + " + name + ".index[None, :]] where rows are packed");
  return true;
}

bool KernelBuilder::folds_parent(SourceRange range, const std::string& text, const std::vector<AxisId>& axes,
                                 const std::vector<int64_t>& dims) {
  std::vector<AxisId> kept;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (std::find(dims.begin(), dims.end(), static_cast<int64_t>(i)) == dims.end()) kept.push_back(axes[i]);
  }
  AxisId parent = kUnitAxis;
  const AxisId axis = axis_without_parent(kernel_, kept, &parent);
  if (axis == kUnitAxis) return false;
  const std::string& name = kernel_.axis(axis).name;
  const std::string& over = kernel_.axis(parent).name;
  fail(range, text + " along " + over + " would leave " + name + ", which ends elsewhere for each lane of " + over +
                  "; fold " + name + " first, or with it");
  return true;
}

}  // namespace kaon::compiler
