// The heads of loops: from `for m, k in tile(M, 0:K, block=(1, 64))` to axes, and loops that are unrolled.
#include <cmath>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

constexpr int64_t kMaxTurns = 1024;  // of a loop that is unrolled

std::string why_no_loop(const std::string& callee) {
  if (callee == "range") return "a loop over single numbers is grid(n), or static_range(n) for a few constant ones";
  return "expected tile(...), jagged_tile(...), grid(...) or static_range(...) after `in`, got " + callee + "(...)";
}

}  // namespace

bool KernelBuilder::tile_axes(const ast::Statement& statement, std::vector<AxisId>* axes) {
  const ast::Expression& call = *statement.value;
  const size_t count = statement.names.size();
  if (call.text == "jagged_tile") return jagged_axis(statement, axes);
  const bool is_tile = call.text == "tile";
  if (!is_tile && call.text != "grid") {
    fail(call.focus, why_no_loop(call.text));
    return false;
  }
  std::vector<TileSize> sizes(count, TileSize{1});
  if (!only_named(call, is_tile ? std::vector<std::string>{"block"} : std::vector<std::string>())) return false;
  if (is_tile && !tile_blocks(call, count, &sizes)) return false;
  const bool begin_and_end = count == 1 && call.children.size() == 2;
  if (!begin_and_end && call.children.size() != count) {
    fail(call.range, std::to_string(count) + (count == 1 ? " loop variable" : " loop variables") + " and " +
                         std::to_string(call.children.size()) + (call.children.size() == 1 ? " range; " : " ranges; ") +
                         call.text + "(...) takes one for each, an extent or begin:end");
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    const ast::Expression* begin = begin_and_end ? call.children[0].get() : nullptr;
    const ast::Expression* end = call.children[begin_and_end ? 1 : i].get();
    if (end->kind == ExpressionKind::kSlice && !begin_and_end) {
      begin = end->children[0].get();
      end = end->children[1].get();
    }
    if (end == nullptr || end->kind == ExpressionKind::kSlice ||
        (begin != nullptr && begin->kind == ExpressionKind::kSlice)) {
      fail(call.range, "a range of " + call.text + "(...) needs an end; write an extent or begin:end");
      return false;
    }
    const AxisId axis = tile_axis(statement.names[i], begin, end, sizes[i]);
    if (axis == kUnitAxis) return false;
    axes->push_back(axis);
  }
  return true;
}

AxisId KernelBuilder::tile_axis(const ast::Name& variable, const ast::Expression* begin, const ast::Expression* end,
                                TileSize size) {
  AxisRange range{HostInt(0), std::nullopt};
  Axis axis;
  axis.kind = AxisKind::kTile;
  axis.fixed_block = size.fixed;
  axis.block_axis = size.block;
  if (begin != nullptr && !tile_bound(*begin, &range.begin, &axis.begin_value)) return kUnitAxis;
  if (!tile_bound(*end, &range.end, &axis.extent_value)) return kUnitAxis;
  if (range.begin) axis.begin = range.begin->to_expr();
  if (range.end) axis.extent = range.end->to_expr();
  axis.name = unique_axis_name(variable.text);
  ranges_.push_back(range);
  return kernel_.new_axis(axis);
}

bool KernelBuilder::tile_bound(const ast::Expression& node, std::optional<HostInt>* host, ValueId* value) {
  const Operand bound{expression(node), &node};
  if (bound.value.is_error() || !require_number(bound)) return false;
  const Type& type = type_of(bound.value);
  if (bound.value.kind == Value::Kind::kFloatLiteral || !dtype_is_int(type.dtype) || !type.is_scalar()) {
    fail(node.range, "a bound of a loop is a single integer, got " + describe(bound.value));
    return false;
  }
  *host =
      bound.value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(bound.value.int_value) : bound.value.host;
  if (*host && (*host)->constant().value_or(0) < 0) {
    fail(node.range, "bound " + (*host)->to_string() + " of a loop is negative");
    return false;
  }
  if (*host) return true;
  if (loop_depth_ == 0) {
    fail(node.range, "a bound of the outermost loop is a dimension, an i64 parameter or a constant, got " +
                         describe(bound.value) + "; the host needs it for the launch");
    return false;
  }
  warn_longest_row(node);
  const std::optional<ValueId> index = as_index(bound);
  if (index) *value = *index;
  return index.has_value();
}

bool KernelBuilder::tile_blocks(const ast::Expression& call, size_t count, std::vector<TileSize>* sizes) {
  sizes->assign(count, TileSize());
  if (call.named.empty()) return true;
  const ast::Expression& node = *call.named[0].value;
  std::vector<const ast::Expression*> items;
  if (node.kind == ExpressionKind::kTuple) {
    for (const ast::ExpressionPtr& child : node.children) items.push_back(child.get());
  } else {
    items.push_back(&node);
  }
  if (items.size() != count) {
    fail(node.range, "block= has " + std::to_string(items.size()) + " sizes for " + std::to_string(count) +
                         (count == 1 ? " tile variable" : " tile variables") +
                         "; write one for each, as in block=(1, 64)");
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (items[i]->kind == ExpressionKind::kName) {
      const Binding* binding = find(items[i]->text);
      if (binding != nullptr && binding->value.kind == Value::Kind::kBlock) {
        const Value block = name(*items[i]);
        (*sizes)[i].block = block.axis;
        if (!use_block(*items[i], block)) return false;
        continue;
      }
    }
    const std::optional<int64_t> size = constant(*items[i], "a block size");
    if (!size) return false;
    if (*size < 1) {
      fail(items[i]->range, "a block size is at least 1, got " + std::to_string(*size));
      return false;
    }
    (*sizes)[i].fixed = *size;
  }
  return true;
}

/// A value has an axis once, so one block cannot run two loops of which one is in the other.
bool KernelBuilder::use_block(const ast::Expression& node, const Value& block) {
  for (const Scope& scope : scopes_) {
    for (const auto& [name, binding] : scope) {
      if (binding.value.kind != Value::Kind::kTileVariable) continue;
      if (kernel_.axis(binding.value.axis).block_axis != block.axis) continue;
      fail(node.range, "block " + block.name + " runs the loop over " + name + " around this one; register another",
           {{binding.range, name + " is declared here"}});
      return false;
    }
  }
  return true;
}

/// `let B = block(N);`: a tile size by name, for loops and for values that outlive them.
void KernelBuilder::register_block(const ast::Statement& statement) {
  const ast::Expression& call = *statement.value;
  Value block = Value::error();
  std::vector<Operand> a;
  if (statement.kind != ast::StatementKind::kLet || statement.names.size() != 1) {
    fail(statement.range, "a block is registered by one name, as in `let B = block(N);`");
  } else if (only_named(call, {}) && operands_of(call, 1, 1, "block(N)", &a)) {
    const Value& value = a[0].value;
    const std::optional<HostInt> extent =
        value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
    if (!extent || !is_natural(*extent)) {
      fail(a[0].node->range, "a block is registered for a dimension or a constant, got " + describe(value));
    } else {
      Axis axis;
      axis.kind = AxisKind::kStatic;
      axis.name = unique_axis_name(statement.names[0].text);
      axis.extent = extent->to_expr();
      axis.block_axis = static_cast<AxisId>(kernel_.axes.size());
      ranges_.push_back({HostInt(0), std::nullopt});
      block.kind = Value::Kind::kBlock;
      block.axis = kernel_.new_axis(axis);
      block.name = statement.names[0].text;
    }
  }
  for (const ast::Name& name : statement.names) declare(name, block, /*is_var=*/false);
}

/// Builds the body once for each value of the variable, which is a literal in it.
void KernelBuilder::unrolled_loop(const ast::Statement& statement) {
  const ast::Expression& call = *statement.value;
  if (!only_named(call, {})) return;
  if (statement.names.size() != 1 || call.children.empty() || call.children.size() > 3) {
    fail(call.range, "static_range takes one variable and an end, a begin and an end, or those and a step, got " +
                         std::to_string(statement.names.size()) +
                         (statement.names.size() == 1 ? " variable" : " variables") + " and " +
                         std::to_string(call.children.size()) + " arguments");
    return;
  }
  std::vector<int64_t> arguments;
  for (const ast::ExpressionPtr& child : call.children) {
    const std::optional<int64_t> value = constant(*child, "a bound of static_range");
    if (!value) return;
    arguments.push_back(*value);
  }
  const int64_t begin = arguments.size() == 1 ? 0 : arguments[0];
  const int64_t end = arguments.size() == 1 ? arguments[0] : arguments[1];
  const int64_t step = arguments.size() == 3 ? arguments[2] : 1;
  if (step == 0) {
    fail(call.children[2]->range, "static_range with step 0 never ends");
    return;
  }
  const double turns = std::ceil((static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(step));
  if (turns > static_cast<double>(kMaxTurns)) {
    fail(call.range, "static_range would be unrolled more than " + std::to_string(kMaxTurns) +
                         " times; loop with grid(n), whose variable is a number at run time");
    return;
  }
  const int errors = diagnostics_.num_errors();
  const bool warns = warns_unused_;
  for (int64_t turn = 0; static_cast<double>(turn) < turns; ++turn) {
    push_scope();
    if (declare(statement.names[0], Value::int_literal(begin + turn * step), /*is_var=*/false)) {
      scopes_.back()[statement.names[0].text].used = true;
    }
    statements(statement.body);
    pop_scope();
    warns_unused_ = false;  // one turn has said it
    if (diagnostics_.num_errors() != errors) break;
  }
  warns_unused_ = warns;
  if (turns <= 0) mark_used(statement.body);
}

}  // namespace kaon::compiler
