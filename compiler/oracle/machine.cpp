// Control flow, axes and memory of the interpreted program.
#include "compiler/oracle/machine.h"

#include <algorithm>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"
#include "compiler/ir/updates.h"
#include "compiler/ir/walk.h"
#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/fusion.h"
#include "compiler/oracle/reductions.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

// A `while` that runs longer never ends, as far as a test can wait.
constexpr int64_t kMaxTurns = int64_t{1} << 24;

std::vector<AxisId> loop_axes(const Op& op) {
  if (op.kind == OpKind::kLoop) return {static_cast<AxisId>(op.int_attr("axis"))};
  const std::vector<int64_t>& axes = op.ints_attr("axes");
  return std::vector<AxisId>(axes.begin(), axes.end());
}

/// A copy that takes no more than the elements there are.
void assign(const Tile& from, Tile* to) {
  if (&from != to) copy_reshaped(from, from.sizes, to);
}

}  // namespace

Machine::Machine(const Kernel& kernel, const std::vector<HostTensor>& tensors, const std::vector<int64_t>& slots,
                 const std::vector<int64_t>& blocks, std::vector<std::vector<OracleElement>>* outputs)
    : kernel_(kernel),
      tensors_(tensors),
      slots_(slots),
      blocks_(blocks),
      outputs_(outputs),
      ledger_(tensors.size()),
      definitions_(defining_ops(kernel)),
      fusable_(fusable_products(kernel)),
      tiles_(kernel.values.size()),
      states_(kernel.axes.size()),
      is_updated_(tensors.size(), false),
      memory_(tensors.size()) {
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (is_update(op)) is_updated_[static_cast<size_t>(op.int_attr("tensor"))] = true;
  });
}

Status Machine::prepare() {
  for (size_t i = 0; i < kernel_.scalar_params.size(); ++i) {
    const ScalarParam& param = kernel_.signature.scalars[i];
    const int64_t bits = slots_[static_cast<size_t>(kernel_.signature.scalar_slot(static_cast<int>(i)))];
    Tile& scalar = tile(kernel_.scalar_params[i]);
    scalar.shape(param.dtype, {}, /*is_exact=*/true);
    if (scalar.is_float())
      scalar.floats[0] = decode_float(param.dtype, static_cast<uint64_t>(bits));
    else
      scalar.ints[0] = wrap_int(param.dtype, bits);
  }
  const Op* outermost = nullptr;
  for (const auto& op : kernel_.body.ops) {
    if (op->kind == OpKind::kTile || op->kind == OpKind::kGrid)
      outermost = op.get();
    else
      KAON_RETURN_IF_ERROR(run_op(*op));
  }
  num_programs_ = 1;
  while (outermost) {
    program_ = &outermost->regions[0];
    for (AxisId axis : loop_axes(*outermost)) {
      KAON_RETURN_IF_ERROR(enter_axis(axis));
      grid_axes_.push_back(axis);
      num_programs_ *= state(axis).count;
    }
    // A tile that is all there is in a tile, by bounds known already, is part of the same iteration space.
    const Op* inner = program_->ops.size() == 1 ? program_->ops[0].get() : nullptr;
    bool is_nested = inner && inner->kind == OpKind::kTile && inner->operands.empty();
    for (size_t i = 0; is_nested && i < loop_axes(*inner).size(); ++i) {
      is_nested = updates_are_apart(kernel_, inner->regions[0], loop_axes(*inner)[i]);
    }
    outermost = is_nested ? inner : nullptr;
  }
  return Status::ok();
}

Status Machine::run_program(int64_t program) {
  for (size_t i = grid_axes_.size(); i-- > 0;) {
    const int64_t count = state(grid_axes_[i]).count;
    set_tile(grid_axes_[i], program % count);
    program /= count;
  }
  return run_region(*program_);
}

Status Machine::bound_of(ValueId value, const Expr& expr, int64_t* out) {
  *out = value == kNoValue ? expr.evaluate(slots_.data()) : tile(value).ints[0];
  if (value == kNoValue || tile(value).exact) return Status::ok();
  return Status(Code::kUnsupported, "oracle: a loop bound or extent depends on how a float is rounded");
}

Status Machine::enter_axis(AxisId id) {
  const Axis& axis = kernel_.axis(id);
  AxisState& s = state(id);
  KAON_RETURN_IF_ERROR(bound_of(axis.begin_value, axis.begin, &s.first));
  KAON_RETURN_IF_ERROR(bound_of(axis.extent_value, axis.extent, &s.end));
  if (axis.lengths != kNoValue && !tile(axis.lengths).exact) {
    return Status(Code::kUnsupported, "oracle: a length of a jagged axis depends on how a float is rounded");
  }
  const int64_t block = blocks_[static_cast<size_t>(id)];
  s.count = s.end > s.first ? (s.end - s.first + block - 1) / block : 0;
  return Status::ok();
}

void Machine::set_tile(AxisId id, int64_t tile_id) {
  AxisState& s = state(id);
  s.id = tile_id;
  s.begin = s.first + tile_id * blocks_[static_cast<size_t>(id)];
}

Status Machine::sizes_of(const std::vector<AxisId>& axes, std::vector<int64_t>* sizes) {
  sizes->clear();
  for (AxisId id : axes) {
    int64_t size = 1;
    if (id != kUnitAxis && is_block(kernel_.axis(id))) {
      size = blocks_[static_cast<size_t>(id)];
    } else if (id != kUnitAxis && kernel_.axis(id).kind == AxisKind::kTile) {
      size = std::min(blocks_[static_cast<size_t>(id)], state(id).end - state(id).begin);
    } else if (id != kUnitAxis) {
      KAON_RETURN_IF_ERROR(bound_of(kernel_.axis(id).extent_value, kernel_.axis(id).extent, &size));
    }
    sizes->push_back(std::max<int64_t>(size, 0));
  }
  return Status::ok();
}

Status Machine::run_region(const Region& region) {
  for (const auto& op : region.ops) KAON_RETURN_IF_ERROR(run_op(*op));
  return Status::ok();
}

Status Machine::run_op(const Op& op) {
  switch (op.kind) {
    case OpKind::kTile:
    case OpKind::kLoop: return run_loop(op);
    case OpKind::kIf: return run_if(op);
    case OpKind::kWhile: return run_while(op);
    case OpKind::kLoad: return run_load(op);
    case OpKind::kStore: return run_store(op);
    case OpKind::kAtomic: return run_atomic(op);
    case OpKind::kAssert:
    case OpKind::kPrint: return Status::ok();
    case OpKind::kYield: return Status::ok();
    case OpKind::kFold:
    case OpKind::kScan: return run_combining(op);
    default: return run_pure(op);
  }
}

void Machine::take_yields(const Region& region, const std::vector<ValueId>& targets) {
  if (targets.empty()) return;
  const std::vector<ValueId>& yields = region.ops.back()->operands;
  // A yield may be another target: all are read before one is written.
  std::vector<Tile> values(yields.size());
  for (size_t i = 0; i < yields.size(); ++i) assign(tile(yields[i]), &values[i]);
  for (size_t i = 0; i < yields.size(); ++i) std::swap(tile(targets[i]), values[i]);
}

Status Machine::run_loop(const Op& op) {
  const Region& body = op.regions[0];
  const std::vector<AxisId> axes = loop_axes(op);
  int64_t count = 1;
  for (AxisId axis : axes) {
    KAON_RETURN_IF_ERROR(enter_axis(axis));
    count *= state(axis).count;
  }
  for (size_t i = 0; i < op.operands.size(); ++i) assign(tile(op.operands[i]), &tile(body.args[i]));
  for (int64_t point = 0; point < count; ++point) {
    int64_t rest = point;
    for (size_t i = axes.size(); i-- > 0;) {
      set_tile(axes[i], rest % state(axes[i]).count);
      rest /= state(axes[i]).count;
    }
    KAON_RETURN_IF_ERROR(run_region(body));
    take_yields(body, body.args);
  }
  for (size_t i = 0; i < op.results.size(); ++i) assign(tile(body.args[i]), &tile(op.results[i]));
  return Status::ok();
}

Status Machine::run_while(const Op& op) {
  const Region& test = op.regions[0];
  const Region& body = op.regions[1];
  for (size_t i = 0; i < op.operands.size(); ++i) assign(tile(op.operands[i]), &tile(test.args[i]));
  for (int64_t turn = 0;; ++turn) {
    KAON_RETURN_IF_ERROR(run_region(test));
    const Tile& condition = tile(test.ops.back()->operands[0]);
    if (condition.bound(0) != 0) {
      return Status(Code::kUnsupported, "oracle: the end of a `while` depends on how a float is rounded");
    }
    if (condition.ints[0] == 0) break;
    if (turn == kMaxTurns) {
      return Status(Code::kUnsupported, "oracle: a `while` has not ended after " + std::to_string(turn) + " turns");
    }
    for (size_t i = 0; i < test.args.size(); ++i) assign(tile(test.args[i]), &tile(body.args[i]));
    KAON_RETURN_IF_ERROR(run_region(body));
    take_yields(body, test.args);
  }
  for (size_t i = 0; i < op.results.size(); ++i) assign(tile(test.args[i]), &tile(op.results[i]));
  return Status::ok();
}

Status Machine::run_if(const Op& op) {
  const Tile& condition = tile(op.operands[0]);
  if (condition.bound(0) != 0) return run_undecided_if(op);
  const Region& branch = op.regions[condition.ints[0] ? 0 : 1];
  KAON_RETURN_IF_ERROR(run_region(branch));
  take_yields(branch, op.results);
  return Status::ok();
}

Status Machine::run_undecided_if(const Op& op) {
  ++undecided_;
  KAON_RETURN_IF_ERROR(run_region(op.regions[1]));
  take_yields(op.regions[1], op.results);
  std::vector<Tile> otherwise(op.results.size());
  for (size_t i = 0; i < otherwise.size(); ++i) assign(tile(op.results[i]), &otherwise[i]);
  KAON_RETURN_IF_ERROR(run_region(op.regions[0]));
  take_yields(op.regions[0], op.results);
  --undecided_;
  for (size_t r = 0; r < otherwise.size(); ++r) {
    Tile& result = tile(op.results[r]);
    const Tile& other = otherwise[r];
    if (result.exact) {
      result.need_bounds();
      std::fill(result.bounds.begin(), result.bounds.end(), 0.0);
      result.exact = false;
    }
    for (size_t i = 0; i < result.count; ++i) {
      if (result.is_float())
        cover_float(&result.floats[i], &result.bounds[i], other.floats[i], other.bound(i));
      else
        cover_int(result.dtype, &result.ints[i], &result.bounds[i], other.ints[i], other.bound(i));
    }
    result.settle();
  }
  return Status::ok();
}

Status Machine::addresses_of(const Op& op, const std::vector<AxisId>& axes, std::vector<Address>* addresses) {
  auto dim_of = [&](AxisId axis) { return static_cast<int>(std::find(axes.begin(), axes.end(), axis) - axes.begin()); };
  for (const Indexer& indexer : op.index_attr("index")) {
    Address address;
    address.kind = indexer.kind;
    const Tile* operand = indexer.operand < 0 ? nullptr : &tile(op.operands[static_cast<size_t>(indexer.operand)]);
    if (indexer.kind != Indexer::Kind::kTile && operand) {
      if (!operand->exact) return Status(Code::kUnsupported, "oracle: an index depends on how a float is rounded");
      address.first = operand->ints[0];
    }
    if (indexer.kind == Indexer::Kind::kAxis) {
      address.result_dim = dim_of(indexer.axis);
      if (kernel_.axis(indexer.axis).kind == AxisKind::kTile) address.first += state(indexer.axis).begin;
    } else if (indexer.kind == Indexer::Kind::kTile) {
      address.tile = operand;
      for (AxisId axis : kernel_.type(op.operands[static_cast<size_t>(indexer.operand)]).axes) {
        address.tile_dims.push_back(dim_of(axis));
      }
    }
    addresses->push_back(std::move(address));
  }
  return Status::ok();
}

Status Machine::run_load(const Op& op) {
  const auto tensor = static_cast<size_t>(op.int_attr("tensor"));
  if (kernel_.signature.tensors[tensor].is_output) {
    return Status(Code::kUnsupported, "oracle: output " + kernel_.signature.tensors[tensor].name + " is read");
  }
  const Type& type = kernel_.type(op.result());
  std::vector<int64_t> sizes;
  std::vector<Address> addresses;
  KAON_RETURN_IF_ERROR(sizes_of(type.axes, &sizes));
  KAON_RETURN_IF_ERROR(addresses_of(op, type.axes, &addresses));
  lane_offsets(tensors_[tensor], addresses, sizes, &offsets_);
  Tile& result = tile(op.result());
  result.shape(type.dtype, sizes, /*is_exact=*/true);
  const AccessOperands operands = access_operands(op);
  const Tile* mask = operands.mask == kNoValue ? nullptr : &tile(operands.mask);
  for (size_t i = 0; mask != nullptr && i < result.count; ++i) {
    if (mask->bound(i) == 0 && mask->ints[i] == 0) offsets_[i] = kOutside;
  }
  load_elements(tensors_[tensor], offsets_, result.count, &result);
  if (mask != nullptr) fill_masked(*mask, operands.other == kNoValue ? nullptr : &tile(operands.other), &result);
  clear_missing(type.axes, &result);
  return Status::ok();
}

Status Machine::run_store(const Op& op) {
  const auto tensor = static_cast<size_t>(op.int_attr("tensor"));
  const ValueId value = op.operands[0];
  const Tile& stored = tile(value);
  std::vector<Address> addresses;
  KAON_RETURN_IF_ERROR(addresses_of(op, kernel_.type(value).axes, &addresses));
  for (const Address& address : addresses) {
    if (address.tile && !address.tile->exact) {
      return Status(Code::kUnsupported, "oracle: a scatter's index depends on how a float is rounded");
    }
  }
  lane_offsets(tensors_[tensor], addresses, stored.sizes, &offsets_);
  Tile scratch;
  if (is_update(op)) update(op, stored, &scratch);
  const Tile& exact = is_update(op) ? scratch : before_rounding(value, &scratch);
  const Tile& kept = is_update(op) ? scratch : stored;  // what memory holds
  const ValueId mask_value = access_operands(op).mask;
  const Tile* mask = mask_value == kNoValue ? nullptr : &tile(mask_value);
  const auto is_masked_off = [&](size_t i) { return mask && mask->bound(i) == 0 && mask->ints[i] == 0; };
  std::vector<OracleElement>& out = (*outputs_)[tensor];
  const std::vector<uint8_t> exists = lanes_of(kernel_.type(value).axes, stored.sizes);
  for (size_t i = 0; i < stored.count; ++i) {
    if (offsets_[i] == kOutside || is_masked_off(i) || (!exists.empty() && !exists[i])) continue;
    OracleElement element;
    element.offset = offsets_[i];
    element.value = exact.is_float() ? exact.floats[i] : static_cast<double>(exact.ints[i]);
    element.bound = undecided_ > 0 || (mask && mask->bound(i) != 0) ? kUnknown : exact.bound(i);
    element.integer = kept.is_float() ? 0 : kept.ints[i];
    out.push_back(element);
    if (!is_updated_[tensor]) continue;
    if (kept.is_float()) element.value = kept.floats[i];
    if (element.bound != kUnknown) element.bound = kept.bound(i);
    memory_[tensor][element.offset] = element;
  }
  return Status::ok();
}

const Tile& Machine::before_rounding(ValueId value, Tile* scratch) {
  const Op* op = definitions_[static_cast<size_t>(value)];
  if (!op) return tile(value);
  switch (op->kind) {
    case OpKind::kCast: {
      const bool rounds = tile(op->operands[0]).is_float() && kernel_.type(value).dtype != DType::kBool;
      return rounds ? tile(op->operands[0]) : tile(value);
    }
    case OpKind::kSlice:
    case OpKind::kConcat: {
      std::vector<Tile> scratches(op->operands.size());
      std::vector<const Tile*> parts;
      bool rounds = false;
      for (size_t i = 0; i < op->operands.size(); ++i) {
        const bool is_begin = op->kind == OpKind::kSlice && i == 1;
        parts.push_back(is_begin ? &tile(op->operands[i]) : &before_rounding(op->operands[i], &scratches[i]));
        rounds = rounds || parts.back() != &tile(op->operands[i]);
      }
      // Parts of which only some were rounded have their own types: those that were not stand as they are.
      const size_t count = op->kind == OpKind::kSlice ? 1 : parts.size();
      for (size_t i = 0; i < count; ++i) rounds = rounds && parts[i]->is_float();
      if (!rounds || !cut(*op, parts, tile(value).sizes, scratch)) return tile(value);
      return *scratch;
    }
    case OpKind::kReshape:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBroadcast:
    case OpKind::kPermute: {
      Tile inner_scratch;
      const Tile& inner = before_rounding(op->operands[0], &inner_scratch);
      if (&inner == &tile(op->operands[0])) return tile(value);
      if (op->kind == OpKind::kBroadcast)
        copy_broadcast(inner, tile(value).sizes, scratch);
      else if (op->kind == OpKind::kPermute)
        copy_permuted(inner, op->ints_attr("perm"), scratch);
      else
        copy_reshaped(inner, tile(value).sizes, scratch);
      return *scratch;
    }
    default: return tile(value);
  }
}

}  // namespace kaon::compiler
