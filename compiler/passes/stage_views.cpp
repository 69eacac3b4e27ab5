// Comparing where elements are with where a view wants them, and moving those that are elsewhere.
#include "compiler/passes/stage_views.h"

#include <unordered_map>
#include <utility>

#include "compiler/ir/view_rules.h"

namespace kaon::compiler {

namespace {

constexpr uint32_t kLanes = 32;

/// Elements of one tile in the array of its view, thread by thread.
class PlacedTile {
 public:
  PlacedTile(const Kernel& kernel, ValueId value, ViewPlace place)
      : layout_(kernel.layout(value)), place_(std::move(place)) {
    for (const AxisId axis : kernel.type(value).axes) ends_.push_back(array_extent(kernel, axis));
  }

  uint32_t num_registers() const { return layout_.num_registers(); }

  /// Offset of the element that the register of the thread holds, or -1 where there is none.
  int64_t offset(uint32_t warp, uint32_t lane, uint32_t reg) const {
    const std::vector<uint64_t> position = layout_.position({reg, lane, warp, 0});
    int64_t out = place_.offset;
    for (size_t dim = 0; dim < position.size(); ++dim) {
      if (static_cast<int64_t>(position[dim]) >= ends_[dim]) return -1;
      out += static_cast<int64_t>(position[dim]) * place_.strides[dim];
    }
    return out;
  }

 private:
  const Layout& layout_;
  ViewPlace place_;
  std::vector<int64_t> ends_;
};

}  // namespace

bool is_moving_view(OpKind kind) {
  return kind == OpKind::kReshape || kind == OpKind::kSlice || kind == OpKind::kConcat;
}

std::optional<std::vector<int64_t>> picked_registers(const Kernel& kernel, const Op& op) {
  const Result<ViewPlaces> places = view_places(kernel, op);
  if (!places || places->begin_stride != 0) return std::nullopt;
  const PlacedTile result(kernel, op.result(), places->result);
  std::vector<PlacedTile> operands;
  for (size_t i = 0; i < places->operands.size(); ++i)
    operands.emplace_back(kernel, op.operands[i], places->operands[i]);
  // A part of a tile whose size only the call knows: positions that reach beyond the tile do not exist.
  const bool may_reach_beyond = op.kind == OpKind::kSlice;
  std::vector<int64_t> picked(2 * static_cast<size_t>(result.num_registers()), -1);
  for (uint32_t warp = 0; warp < static_cast<uint32_t>(kernel.num_warps); ++warp) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      std::unordered_map<int64_t, std::pair<int64_t, int64_t>> held;
      for (size_t i = 0; i < operands.size(); ++i) {
        for (uint32_t reg = 0; reg < operands[i].num_registers(); ++reg) {
          const int64_t offset = operands[i].offset(warp, lane, reg);
          if (offset >= 0) held.try_emplace(offset, std::pair<int64_t, int64_t>(static_cast<int64_t>(i), reg));
        }
      }
      for (uint32_t reg = 0; reg < result.num_registers(); ++reg) {
        const int64_t offset = result.offset(warp, lane, reg);
        if (offset < 0 || (may_reach_beyond && offset >= places->elements)) continue;
        const auto found = held.find(offset);
        if (found == held.end()) return std::nullopt;
        auto& [operand, source] = found->second;
        int64_t* slot = &picked[2 * reg];
        if (slot[0] >= 0 && (slot[0] != operand || slot[1] != source)) return std::nullopt;
        slot[0] = operand;
        slot[1] = source;
      }
    }
  }
  for (int64_t& number : picked) number = std::max<int64_t>(number, 0);  // registers that hold nothing in any thread
  return picked;
}

namespace {

/// Writes `value` at its place of a buffer of `elements`, or finds that it has been.
int shared_tile(Builder& builder, ValueId value, const ViewPlace& place, int64_t elements, int buffer,
                SharedTiles* tiles) {
  Kernel& kernel = builder.kernel();
  std::vector<int64_t> key = place.strides;
  key.push_back(place.offset);
  if (buffer < 0) {
    const auto known = tiles->find({value, key});
    if (known != tiles->end()) return known->second;
    buffer = static_cast<int>(kernel.shared_buffers.size());
    SharedBuffer memory;
    memory.name = "view" + std::to_string(buffer);
    memory.bytes = static_cast<uint32_t>(elements * dtype_bytes(kernel.type(value).dtype));
    kernel.shared_buffers.push_back(std::move(memory));
    (*tiles)[{value, key}] = buffer;
  }
  Op& store = builder.shared_store(buffer, value);
  store.set_attr("strides", place.strides);
  store.set_attr("offset", place.offset);
  return buffer;
}

/// Scalar elements that a begin on the device skips.
ValueId skipped_elements(Builder& builder, ValueId begin, int64_t stride) {
  if (stride == 1) return begin;
  Kernel& kernel = builder.kernel();
  const Layout scalar({}, static_cast<uint32_t>(kernel.num_warps));
  const ValueId factor = builder.int_const(DType::kI64, stride);
  kernel.layout(factor) = scalar;
  const ValueId product = builder.binary(BinaryFn::kMul, begin, factor);
  kernel.layout(product) = scalar;
  return product;
}

}  // namespace

Result<ValueId> stage_view(Builder& builder, const Op& op, SharedTiles* tiles) {
  Kernel& kernel = builder.kernel();
  const Type type = kernel.type(op.result());
  const Layout layout = kernel.layout(op.result());
  if (std::optional<std::vector<int64_t>> picked = picked_registers(kernel, op)) {
    Op& pick = builder.insert(OpKind::kPick, op.operands);
    pick.set_attr("registers", std::move(*picked));
    const ValueId value = builder.add_result(pick, type);
    kernel.layout(value) = layout;
    return value;
  }
  KAON_ASSIGN_OR_RETURN(const ViewPlaces places, view_places(kernel, op));
  int buffer = -1;
  for (size_t i = 0; i < places.operands.size(); ++i) {
    SharedTiles own;  // the parts of a concat are one another's neighbours in a buffer of their own
    buffer = shared_tile(builder, op.operands[i], places.operands[i], places.elements, buffer,
                         op.kind == OpKind::kConcat ? &own : tiles);
  }
  ValueId begin = kNoValue;
  if (places.begin_stride != 0) begin = skipped_elements(builder, op.operands[1], places.begin_stride);
  const ValueId value = builder.shared_load(buffer, type, layout);
  Op& load = *builder.region().ops[builder.position() - 1];
  if (begin != kNoValue) load.operands = {begin};
  load.set_attr("strides", places.result.strides);
  load.set_attr("offset", places.result.offset);
  return value;
}

}  // namespace kaon::compiler
