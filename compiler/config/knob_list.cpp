// Deriving knobs from the axes, tensors and loops of a kernel.
#include "compiler/config/knob_list.h"

#include <algorithm>
#include <map>
#include <set>

#include "compiler/config/dot_plan.h"
#include "compiler/config/grid_nest.h"
#include "compiler/config/loop_schedule.h"
#include "compiler/config/row_versions.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

constexpr int64_t kDefaultWarps = 4;
constexpr int64_t kMaxInnerTile = 16384;

std::vector<std::string> texts(const std::vector<int64_t>& values) {
  std::vector<std::string> out;
  for (const int64_t value : values) out.push_back(std::to_string(value));
  return out;
}

std::string call(const char* word, int64_t argument) {
  return std::string(word) + "(" + std::to_string(argument) + ")";
}

bool is_inner(const std::vector<AxisSet>& sets, AxisId axis) {
  return std::any_of(sets.begin(), sets.end(), [&](const AxisSet& set) { return set.inner == axis; });
}

/// Whether tiles of the axis are taken one after the other by each program: a registered block, or rows of lengths of their
/// own.
bool is_walked(const Axis& axis) { return is_block(axis) || axis.lengths != kNoValue; }

/// Of tiles that have walked axes beside the inner one, which may then be short: as many coordinates of those as fill the
/// threads and keep loads in flight.
Knob block_knob(const Axis& axis, bool inner, bool is_only_outer, bool has_walked, int64_t vec) {
  Knob knob{"block." + axis.name, {}, "1", "coordinates of " + axis.name + " in one tile"};
  if (!inner) {
    knob.choices = texts({1, 2, 4, 8});
    if (is_walked(axis)) {
      knob.choices.insert(knob.choices.end(), {"16", "32", "64", "128", "256", "512"});
    } else if (is_only_outer) {
      knob.choices.insert(knob.choices.end(), {"16", "32"});  // short rows: several in one warp
    }
    return knob;
  }
  for (int64_t block = (has_walked ? 8 : 32) * vec; block <= kMaxInnerTile; block *= 2)
    knob.choices.push_back(std::to_string(block));
  knob.default_value = std::to_string(32 * kDefaultWarps * vec);
  return knob;
}

/// Tiles of matrices: as long along each axis as there is data to use again.
Knob dot_block_knob(const Axis& axis, bool summed) {
  Knob knob{"block." + axis.name, texts({16, 32, 64, 128}), summed ? "32" : "64",
            "coordinates of " + axis.name + " in one tile"};
  if (!summed) knob.choices.push_back("256");
  return knob;
}

/// Whether a guard can tell that a call's row fits the registers that a config gives it.
bool has_bounded_rows(const Axis& axis) { return axis.extent_value == kNoValue && linear_form(axis.extent); }

Knob dot_row_knob(const Kernel& kernel, AxisId id, bool summed) {
  const Axis& axis = kernel.axis(id);
  Knob knob{"reduce." + axis.name,
            {},
            call("chunk", summed ? 32 : 64),
            "how a row of " + axis.name + " is walked: kept in registers, or chunk by chunk"};
  if (has_bounded_rows(axis)) {
    for (const int64_t repetitions : {1, 2, 4, 8, 16}) knob.choices.push_back(call("resident", repetitions));
  }
  if (is_carried(kernel, id)) {
    knob.default_value = call("resident", 4);
  } else {
    for (const int64_t chunk : {16, 32, 64, 128}) knob.choices.push_back(call("chunk", chunk));
  }
  return knob;
}

Knob row_axis_knob(const Axis& axis, bool inner) {
  Knob knob{"reduce." + axis.name,
            {},
            inner ? "resident(4)" : "chunk(1)",
            "how a row of " + axis.name + " is walked: kept in registers, or chunk by chunk"};
  if (has_bounded_rows(axis)) {
    for (const int64_t repetitions : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16}) {
      knob.choices.push_back(call("resident", repetitions));
    }
  } else if (inner) {
    knob.default_value = call("chunk", 1024);
  }
  const std::vector<int64_t> chunks =
      inner ? std::vector<int64_t>{1024, 2048, 4096, 8192, 16384} : std::vector<int64_t>{1, 8, 32};
  for (const int64_t chunk : chunks) knob.choices.push_back(call("chunk", chunk));
  return knob;
}

/// Tensors that some op reads or writes, in signature order, and whether one of their tiles is as large as tiles get:
/// only those can crowd others out of a cache.
std::map<int64_t, bool> accessed_tensors(const Kernel& kernel, const std::vector<AxisSet>& sets) {
  std::map<int64_t, bool> tensors;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kLoad && op.kind != OpKind::kStore) return;
    const ValueId tile = op.kind == OpKind::kStore ? op.operands[0] : op.result();
    const bool is_large = !sets.empty() && kernel.type(tile).axes.size() >= sets[0].axes.size();
    tensors[op.int_attr("tensor")] |= is_large;
  });
  return tensors;
}

/// Rows of short elements that are reduced: packed, they take half the registers of their values or less.
bool can_keep_input(const Kernel& kernel, AxisId id) {
  const Axis& axis = kernel.axis(id);
  if (!is_row_axis(axis) || axis.extent_value != kNoValue || kernel.signature.dims.empty()) return false;
  const auto is_along = [&](ValueId value) {
    const auto& axes = kernel.type(value).axes;
    return std::find(axes.begin(), axes.end(), id) != axes.end();
  };
  bool loads = false;
  bool reduces = false;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind == OpKind::kLoad && is_along(op.result())) loads |= dtype_bytes(kernel.type(op.result()).dtype) < 4;
    if (op.kind == OpKind::kReduce && is_along(op.operands[0])) reduces |= !is_along(op.result());
  });
  return loads && reduces;
}

/// The dim that `extent` is, or -1.
int dim_of_extent(const Kernel& kernel, const Expr& extent) {
  const auto form = linear_form(extent);
  if (!form || form->is_constant() || form->scale != 1 || form->offset != 0) return -1;
  const int dim = form->slot - kernel.signature.dim_slot(0);
  return dim >= 0 && dim < static_cast<int>(kernel.signature.dims.size()) ? dim : -1;
}

/// Dims whose divisors make vectors along the axis legal: its own extent, or, where that is data, the last extents of
/// the tensors that it walks.
std::set<int> dims_along(const Kernel& kernel, AxisId id) {
  const Axis& axis = kernel.axis(id);
  std::set<int> dims;
  if (axis.extent_value == kNoValue) {
    dims.insert(dim_of_axis(kernel, axis));
  } else {
    walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
      if (op.kind != OpKind::kLoad && op.kind != OpKind::kStore) return;
      const auto& index = op.index_attr("index");
      if (index.empty() || index.back().kind != Indexer::Kind::kAxis || index.back().axis != id) return;
      dims.insert(
          dim_of_extent(kernel, kernel.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))].extents.back()));
    });
  }
  dims.erase(-1);
  return dims;
}

/// How rows are shared by blocks, how many bodies they have, and what of them stays in registers.
void add_held_row_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets, const std::set<AxisId>& used,
                        const DotAxes& dots, std::vector<Knob>* knobs) {
  const auto is_jagged = [&](AxisId id) { return kernel.axis(id).lengths != kNoValue; };
  const bool has_jagged = std::any_of(used.begin(), used.end(), is_jagged);
  for (const AxisId id : used) {
    const bool is_row = is_inner(sets, id) && is_row_axis(kernel.axis(id)) && dots.kept.empty();
    if (!(has_jagged ? is_jagged(id) : is_row)) continue;
    const std::string& name = kernel.axis(id).name;
    knobs->push_back({"split." + name,
                      {"1", "cluster(2)", "cluster(4)", "cluster(8)"},
                      "1",
                      "blocks of a cluster that share each row of " + name + ", for few long rows"});
    break;  // a program has one cluster
  }
  for (const AxisId id : used) {
    if (!is_inner(sets, id) || !can_version(kernel, id)) continue;
    const std::string& name = kernel.axis(id).name;
    knobs->push_back({"versions." + name,
                      {"1", "4"},
                      "1",
                      "bodies for a resident row of " + name + ": for the capacity, 5/8 of it, 2/5, a quarter"});
    knobs->push_back({"longer." + name,
                      {"refuse", "loop"},
                      "refuse",
                      "rows of " + name + " that exceed the capacity: left to other variants, or walked by chunks"});
    break;  // their number multiplies
  }
  for (const AxisId id : used) {
    if (!can_keep_input(kernel, id)) continue;
    const std::string& name = kernel.axis(id).name;
    knobs->push_back({"keep." + name,
                      {"values", "input"},
                      "values",
                      "what of a resident row of " + name +
                          " stays in registers across reductions: the values computed, "
                          "or its packed input, from which they are computed anew"});
  }
}

void add_shape_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets, std::vector<Knob>* knobs) {
  const int64_t vec = widest_vector(sets);
  std::set<AxisId> used;
  for (const AxisSet& set : sets) used.insert(set.axes.begin(), set.axes.end());
  const auto has_block = [&](AxisId id) {
    const Axis& axis = kernel.axis(id);
    return (axis.kind == AxisKind::kTile && axis.fixed_block == 0) || is_block(axis);
  };
  const DotAxes dots = find_dot_axes(kernel);
  const auto num_outer = std::count_if(
      used.begin(), used.end(), [&](AxisId id) { return has_block(id) && !is_inner(sets, id) && !dots.has(id); });
  const bool has_walked = std::any_of(used.begin(), used.end(), [&](AxisId id) {
    return is_walked(kernel.axis(id)) && !is_inner(sets, id) && !dots.has(id);
  });
  for (const AxisId id : used) {
    if (!has_block(id)) continue;
    const Axis& axis = kernel.axis(id);
    knobs->push_back(dots.has(id) ? dot_block_knob(axis, dots.kept.count(id) == 0)
                                  : block_knob(axis, is_inner(sets, id), num_outer == 1, has_walked, vec));
  }
  const bool has_inner_row = std::any_of(used.begin(), used.end(),
                                         [&](AxisId id) { return is_row_axis(kernel.axis(id)) && is_inner(sets, id); });
  // Rows of 7 x 2^k, as 7168 or 12544, waste an eighth of every power of two.
  knobs->push_back({"num_warps", has_inner_row ? texts({1, 2, 4, 7, 8, 16, 32}) : texts({1, 2, 4, 8, 16, 32}),
                    std::to_string(kDefaultWarps), "warps of 32 threads in a block"});
  knobs->push_back({"vec", {std::to_string(vec)}, std::to_string(vec), "contiguous elements of one thread"});
  for (const AxisId id : used) {
    if (!is_row_axis(kernel.axis(id))) continue;
    knobs->push_back(dots.has(id) ? dot_row_knob(kernel, id, dots.kept.count(id) == 0)
                                  : row_axis_knob(kernel.axis(id), is_inner(sets, id)));
  }
  add_held_row_knobs(kernel, sets, used, dots, knobs);
  for (const AxisId id : used) {
    if (!is_inner(sets, id)) continue;
    const std::string& name = kernel.axis(id).name;
    Knob knob{"lanes." + name, {"auto"}, "auto", "threads along " + name};
    // Fewer than a row each would leave: a thread then holds pieces of several rows.
    if ((has_walked || (is_row_axis(kernel.axis(id)) && num_outer > 0)) && !dots.has(id))
      knob.choices.insert(knob.choices.end(), {"8", "16", "32"});
    knobs->push_back(std::move(knob));
  }
}

/// Loops that load: their loads in flight turns ahead, or their body several times between two jumps. The latter is
/// legal but not searched: stages hide what it would.
void add_loop_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets, std::vector<Knob>* knobs) {
  const std::vector<AxisId> axes = loop_axes(kernel, sets);
  if (!possible_ahead_loops(kernel, axes).empty()) {
    knobs->push_back({"num_stages", {"1", "3"}, "1", "turns of a loop whose loads are in flight, its own among them"});
  }
  for (const AxisId axis : axes) {
    const std::string& name = kernel.axis(axis).name;
    knobs->push_back({"unroll." + name, {"1"}, "1", "turns of the loop over " + name + " between two jumps"});
  }
}

void add_access_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets, std::vector<Knob>* knobs) {
  const int64_t vec = widest_vector(sets);
  const DotAxes dots = find_dot_axes(kernel);
  std::set<int> divided;
  std::set<AxisId> inner;
  for (const AxisSet& set : sets) inner.insert(set.inner);
  for (const AxisId id : inner) {
    const Axis& axis = kernel.axis(id);
    // Rows of a matrix are summed column by column: they cannot start in different places.
    if (!is_row_axis(axis) || vec == 1 || dots.has(id)) continue;
    Knob knob{"shift." + axis.name, {"0"}, "0", "start rows of " + axis.name + " at an aligned address"};
    if (axis.extent_value == kNoValue) knob.choices.push_back("1");
    knobs->push_back(std::move(knob));
  }
  for (const AxisId id : inner) {
    for (const int dim : dims_along(kernel, id)) {
      if (vec == 1 || !divided.insert(dim).second) continue;
      const std::string& name = kernel.signature.dims[static_cast<size_t>(dim)];
      Knob knob{"div." + name, {std::to_string(vec)}, std::to_string(vec), "number that divides " + name};
      // A row that does not divide is served by a shifted window; a tile has only its cut vectors.
      if (!is_row_axis(kernel.axis(id))) knob.choices.push_back("1");
      knobs->push_back(std::move(knob));
    }
  }
  // Row addresses are computed once a tile, so 32 bits rarely pay for their guard: legal, but not searched.
  knobs->push_back({"index", {"64"}, "64", "bits of offsets within a tensor, 32 or 64"});
  for (const auto& [tensor, is_large] : accessed_tensors(kernel, sets)) {
    const TensorParam& param = kernel.signature.tensors[static_cast<size_t>(tensor)];
    Knob knob{"evict." + param.name, {"default"}, "default", {}};
    knob.help = "how long caches should keep " + param.name +
                (param.is_output ? ": default, or cs (evict first)"
                                 : ": default, stream (not in L1) or cs (evict first; not searched)");
    if (is_large) knob.choices.push_back(param.is_output ? "cs" : "stream");
    knobs->push_back(std::move(knob));
  }
  const int64_t depth = static_cast<int64_t>(find_grid_nest(kernel).axes.size());
  if (depth > 1) {
    Knob knob{"grid.depth", {std::to_string(depth)}, std::to_string(depth), "tile axes that form the launch grid"};
    for (int64_t d = depth - 1; d >= 1; --d) knob.choices.push_back(std::to_string(d));
    knobs->push_back(std::move(knob));
  }
  knobs->push_back({"maxnreg", {"0"}, "0", "limit of registers per thread; 0 leaves it to the assembler"});
}

}  // namespace

int64_t widest_vector(const std::vector<AxisSet>& sets) {
  uint32_t narrowest = 0;
  for (const AxisSet& set : sets) {
    if (set.narrowest_bytes == 0) continue;
    narrowest = narrowest == 0 ? set.narrowest_bytes : std::min(narrowest, set.narrowest_bytes);
  }
  return narrowest == 0 ? 1 : 16 / static_cast<int64_t>(narrowest);
}

int dim_of_axis(const Kernel& kernel, const Axis& axis) {
  return axis.extent_value == kNoValue ? dim_of_extent(kernel, axis.extent) : -1;
}

KnobList list_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets) {
  KnobList list;
  add_shape_knobs(kernel, sets, &list.knobs);
  list.num_shape_knobs = list.knobs.size();
  add_loop_knobs(kernel, sets, &list.knobs);
  add_access_knobs(kernel, sets, &list.knobs);
  return list;
}

}  // namespace kaon::compiler
