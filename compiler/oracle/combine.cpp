// Evaluates combine regions on rows of tuples: a fold by halving, a scan by doubling.
#include "compiler/oracle/combine.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/ir/combine.h"
#include "compiler/ir/functions.h"
#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/reach.h"
#include "compiler/oracle/rounding.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

using Tuple = std::vector<Tile>;

void fill_const(const Op& op, Tile* tile) {
  const Attr& attr = *op.find_attr("value");
  const int64_t* integer = std::get_if<int64_t>(&attr);
  for (size_t i = 0; i < tile->count; ++i) {
    if (tile->is_float())
      tile->floats[i] = round_to(tile->dtype, integer ? static_cast<double>(*integer) : std::get<double>(attr));
    else
      tile->ints[i] = wrap_int(tile->dtype, *integer);
  }
}

/// The region's ops on tiles of one list of sizes.
Tuple apply_region(const Kernel& kernel, const Region& region, const Tuple& left, const Tuple& right) {
  std::map<ValueId, Tile> values;
  for (size_t i = 0; i < left.size(); ++i) {
    values[region.args[i]] = left[i];
    values[region.args[left.size() + i]] = right[i];
  }
  Tuple out;
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::kYield) {
      for (ValueId value : op->operands) out.push_back(values[value]);
      break;
    }
    auto operand = [&](size_t i) -> const Tile& { return values[op->operands[i]]; };
    Tile result;
    switch (op->kind) {
      case OpKind::kConst:
        result.shape(kernel.type(op->result()).dtype, left[0].sizes, /*is_exact=*/true);
        fill_const(*op, &result);
        break;
      case OpKind::kUnary: eval_unary(function_of<UnaryFn>(*op), operand(0), &result); break;
      case OpKind::kBinary: eval_binary(function_of<BinaryFn>(*op), operand(0), operand(1), &result); break;
      case OpKind::kCompare: eval_compare(function_of<CompareFn>(*op), operand(0), operand(1), &result); break;
      case OpKind::kSelect: eval_select(operand(0), operand(1), operand(2), &result); break;
      default: eval_cast(operand(0), kernel.type(op->result()).dtype, &result); break;
    }
    values[op->result()] = std::move(result);
  }
  return out;
}

/// The region where both sides exist, else the side that does. A tuple that may lack lanes ends in a bool tile that
/// says so; the region knows nothing of it.
Tuple combine(const Kernel& kernel, const Region& region, const Tuple& left, const Tuple& right) {
  const size_t size = region.args.size() / 2;
  if (left.size() == size) return apply_region(kernel, region, left, right);
  const Tile& left_exists = left[size];
  const Tile& right_exists = right[size];
  Tuple out = apply_region(kernel, region, Tuple(left.begin(), left.end() - 1), Tuple(right.begin(), right.end() - 1));
  for (size_t i = 0; i < size; ++i) {
    Tile there, chosen;
    eval_select(right_exists, out[i], left[i], &there);
    eval_select(left_exists, there, right[i], &chosen);
    out[i] = std::move(chosen);
  }
  eval_binary(BinaryFn::kOr, left_exists, right_exists, &out.emplace_back());
  return out;
}

bool rounds(const Kernel& kernel, const Op& op) {
  if (op.results.empty() || !dtype_is_float(kernel.type(op.result()).dtype)) return false;
  if (op.kind == OpKind::kCast) return true;
  const std::string fn = op.str_attr("fn");
  if (op.kind == OpKind::kBinary) return fn != "min" && fn != "max";
  if (op.kind != OpKind::kUnary) return false;
  static const std::set<std::string> kExact = {"neg", "abs", "floor", "ceil", "round", "trunc"};
  return kExact.count(fn) == 0;
}

/// Roundings, in units of what they lose, on the way from a tuple to member `member` of what it is combined to.
double lost_by_combining(const Kernel& kernel, const Region& region, size_t member) {
  std::set<ValueId> wanted = {region.ops.back()->operands[member]};
  double lost = 0;
  for (size_t i = region.ops.size() - 1; i-- > 0;) {
    const Op& op = *region.ops[i];
    if (op.results.empty() || wanted.count(op.result()) == 0) continue;
    wanted.insert(op.operands.begin(), op.operands.end());
    if (rounds(kernel, op)) lost += Rounding(kernel.type(op.result()).dtype).unit();
  }
  return lost;
}

/// The device may combine in another order, with other partial results to round. Roundings on the longest path that
/// an element takes are the same as a change of that element beforehand, to first order: each gets such a bound. A
/// thread combines at most 64 registers in a row, and 64 elements are shared by the threads of a step of a loop.
void widen_for_any_order(const Kernel& kernel, const Region& region, size_t length, Tuple* tuple) {
  const double steps =
      length < 2 ? 0 : std::min(static_cast<double>(length - 1), 64.0 + static_cast<double>(length) / 64);
  for (size_t i = 0; i < region.args.size() / 2; ++i) {
    Tile& tile = (*tuple)[i];
    if (!tile.is_float()) continue;
    const double share = steps * lost_by_combining(kernel, region, i);
    if (share == 0) continue;
    const bool was_exact = tile.exact;
    tile.need_bounds();
    for (size_t e = 0; e < tile.count; ++e) {
      const double own = was_exact ? 0 : tile.bounds[e];
      tile.bounds[e] = std::isfinite(tile.floats[e]) ? own + share * std::fabs(tile.floats[e]) : own;
    }
    tile.exact = false;
    tile.settle();
  }
}

/// Positions first, first + step, ... of each of the tile's rows: `count` of them.
Tile take(const Tile& tile, int64_t first, int64_t step, int64_t count) {
  const int64_t rows = tile.sizes[0], length = tile.sizes[1];
  Tile out;
  out.shape(tile.dtype, {rows, count}, tile.exact);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < count; ++i) {
      const auto from = static_cast<size_t>(row * length + first + i * step);
      const auto to = static_cast<size_t>(row * count + i);
      if (tile.is_float())
        out.floats[to] = tile.floats[from];
      else
        out.ints[to] = tile.ints[from];
      if (!tile.exact) out.bounds[to] = tile.bounds[from];
    }
  }
  return out;
}

/// The rows of `a` followed by those of `b`.
Tile join(const Tile& a, const Tile& b) {
  const int64_t rows = a.sizes[0], left = a.sizes[1], right = b.sizes[1];
  Tile out;
  out.shape(a.dtype, {rows, left + right}, a.exact && b.exact);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < left + right; ++i) {
      const Tile& source = i < left ? a : b;
      const auto from = static_cast<size_t>(i < left ? row * left + i : row * right + i - left);
      const auto to = static_cast<size_t>(row * (left + right) + i);
      if (out.is_float())
        out.floats[to] = source.floats[from];
      else
        out.ints[to] = source.ints[from];
      if (!out.exact) out.bounds[to] = source.bound(from);
    }
  }
  return out;
}

Tuple take(const Tuple& tuple, int64_t first, int64_t step, int64_t count) {
  Tuple out;
  for (const Tile& tile : tuple) out.push_back(take(tile, first, step, count));
  return out;
}

Tuple join(const Tuple& a, const Tuple& b) {
  Tuple out;
  for (size_t i = 0; i < a.size(); ++i) out.push_back(join(a[i], b[i]));
  return out;
}

/// `tile` with `dims` last, as a matrix: one row for each point of the other dims.
Tile as_rows(const Tile& tile, const std::vector<int64_t>& dims, std::vector<int64_t>* order) {
  order->clear();
  int64_t rows = 1, length = 1;
  for (int64_t dim = 0; dim < static_cast<int64_t>(tile.sizes.size()); ++dim) {
    const bool is_last = std::find(dims.begin(), dims.end(), dim) != dims.end();
    (is_last ? length : rows) *= tile.sizes[static_cast<size_t>(dim)];
    if (!is_last) order->push_back(dim);
  }
  order->insert(order->end(), dims.begin(), dims.end());
  Tile permuted, out;
  copy_permuted(tile, *order, &permuted);
  copy_reshaped(permuted, {rows, length}, &out);
  return out;
}

Tuple fold_rows(const Kernel& kernel, const Region& region, Tuple tuple) {
  while (tuple[0].sizes[1] > 1) {
    const int64_t length = tuple[0].sizes[1], half = length / 2;
    Tuple folded = combine(kernel, region, take(tuple, 0, 2, half), take(tuple, 1, 2, half));
    tuple = length % 2 == 0 ? std::move(folded) : join(folded, take(tuple, length - 1, 1, 1));
  }
  return tuple;
}

Tile zeros(DType dtype, const std::vector<int64_t>& sizes) {
  Tile out;
  out.shape(dtype, sizes, /*is_exact=*/true);
  std::fill(out.floats.begin(), out.floats.end(), 0.0);
  std::fill(out.ints.begin(), out.ints.end(), 0);
  return out;
}

/// The operands with the op's dims last, and what says which lanes exist if not all do.
Tuple rows_of(const std::vector<const Tile*>& tiles, const std::vector<int64_t>& dims,
              const std::vector<uint8_t>& exists, std::vector<int64_t>* order) {
  Tuple rows;
  for (const Tile* tile : tiles) rows.push_back(as_rows(*tile, dims, order));
  if (exists.empty()) return rows;
  Tile flags;
  flags.shape(DType::kBool, tiles[0]->sizes, /*is_exact=*/true);
  for (size_t i = 0; i < exists.size(); ++i) flags.ints[i] = exists[i];
  rows.push_back(as_rows(flags, dims, order));
  return rows;
}

}  // namespace

std::vector<Tile> eval_fold(const Kernel& kernel, const Op& op, const std::vector<const Tile*>& tiles,
                            const std::vector<int64_t>& result_sizes, const std::vector<uint8_t>& exists) {
  const Region& region = op.regions[0];
  std::vector<int64_t> order;
  Tuple rows = rows_of(tiles, op.ints_attr("dims"), exists, &order);
  Tuple out;
  if (rows[0].sizes[1] == 0) {
    for (const Tile* tile : tiles) out.push_back(zeros(tile->dtype, result_sizes));
    return out;
  }
  widen_for_any_order(kernel, region, static_cast<size_t>(rows[0].sizes[1]), &rows);
  const Tuple before = rows;
  rows = fold_rows(kernel, region, std::move(rows));
  doubt_orders(kernel, region, before, /*is_fold=*/true, &rows);
  for (size_t i = 0; i < tiles.size(); ++i) {
    Tile chosen;
    if (!exists.empty()) eval_select(rows.back(), rows[i], zeros(rows[i].dtype, rows[i].sizes), &chosen);
    copy_reshaped(exists.empty() ? rows[i] : chosen, result_sizes, &out.emplace_back());
  }
  return out;
}

std::vector<Tile> eval_scan(const Kernel& kernel, const Op& op, const std::vector<const Tile*>& tiles,
                            const std::vector<uint8_t>& exists) {
  const Region& region = op.regions[0];
  const int64_t dim = op.int_attr("dim");
  const bool reverse = op.int_attr("reverse") != 0;
  std::vector<int64_t> order;
  Tuple rows = rows_of(tiles, {dim}, exists, &order);
  const int64_t length = rows[0].sizes[1];
  widen_for_any_order(kernel, region, static_cast<size_t>(length), &rows);
  if (reverse) rows = take(rows, length - 1, -1, length);
  const Tuple before = rows;
  for (int64_t step = 1; step < length; step *= 2) {
    Tuple moved = combine(kernel, region, take(rows, 0, 1, length - step), take(rows, step, 1, length - step));
    rows = join(take(rows, 0, 1, step), moved);
  }
  doubt_orders(kernel, region, before, /*is_fold=*/false, &rows);
  Tuple out;
  std::vector<int64_t> back(order.size()), sizes;
  for (size_t i = 0; i < order.size(); ++i) {
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    sizes.push_back(tiles[0]->sizes[static_cast<size_t>(order[i])]);
  }
  for (size_t i = 0; i < tiles.size(); ++i) {
    Tile shaped;
    copy_reshaped(reverse ? take(rows[i], length - 1, -1, length) : rows[i], sizes, &shaped);
    copy_permuted(shaped, back, &out.emplace_back());
  }
  return out;
}

}  // namespace kaon::compiler
