// Which coordinate each register of a thread stands for, and whether its lane exists.
#include <algorithm>
#include <numeric>
#include <tuple>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"
#include "compiler/ir/jagged.h"

namespace kaon::compiler::codegen {
namespace {

/// No window is shifted by more: 16 bytes of the smallest element, and room for the extra of a loop.
constexpr int64_t kShiftRoom = 64;

int64_t power_of_two_part(int64_t value) { return value == 0 ? int64_t{1} << 30 : value & -value; }

}  // namespace

llvm::Value* Lowering::slot(int index) { return slots_[static_cast<size_t>(index)]; }

llvm::Value* Lowering::emit_expr(const Expr& expr) {
  std::vector<llvm::Value*> stack;
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      stack.push_back(b_.getInt64(static_cast<uint64_t>(step.operand)));
      continue;
    }
    if (step.op == ExprOp::kSlot) {
      stack.push_back(slot(static_cast<int>(step.operand)));
      continue;
    }
    llvm::Value* b = stack.back();
    stack.pop_back();
    llvm::Value* a = stack.back();
    llvm::Value* result = nullptr;
    switch (step.op) {
      case ExprOp::kAdd: result = b_.CreateAdd(a, b); break;
      case ExprOp::kSub: result = b_.CreateSub(a, b); break;
      case ExprOp::kMul: result = b_.CreateMul(a, b); break;
      case ExprOp::kFloorDiv: result = emit_int_binary(BinaryFn::kFloorDiv, DType::kI64, a, b); break;
      case ExprOp::kCeilDiv:
        result = b_.CreateNeg(emit_int_binary(BinaryFn::kFloorDiv, DType::kI64, b_.CreateNeg(a), b));
        break;
      case ExprOp::kMod: result = emit_int_binary(BinaryFn::kMod, DType::kI64, a, b); break;
      case ExprOp::kMin: result = emit_min_max(DType::kI64, a, b, /*is_max=*/false); break;
      default: result = emit_min_max(DType::kI64, a, b, /*is_max=*/true); break;
    }
    stack.back() = result;
  }
  return stack.back();
}

llvm::Value* Lowering::axis_begin(const Axis& axis) {
  return axis.begin_value != kNoValue ? scalar(axis.begin_value) : emit_expr(axis.begin);
}

llvm::Value* Lowering::axis_end(const Axis& axis) {
  return axis.extent_value != kNoValue ? scalar(axis.extent_value) : emit_expr(axis.extent);
}

void Lowering::enter_tile(AxisId id, llvm::Value* begin, llvm::Value* number) {
  const Axis& axis = kernel_.axis(id);
  AxisState state;
  state.begin = begin;
  state.id = number;
  // Positions, unlike coordinates, fit 32 bits: all tests of existence compare them with one number per tile.
  llvm::Value* remaining = b_.CreateSub(axis_end(axis), begin);
  llvm::Value* room = b_.getInt64(static_cast<uint64_t>(axis.block + kShiftRoom));
  llvm::Value* limit = emit_min_max(
      DType::kI64, remaining, axis.origin == kNoValue ? b_.getInt64(static_cast<uint64_t>(axis.block)) : room, false);
  limit = b_.CreateTrunc(limit, b_.getInt32Ty());
  if (axis.origin != kNoValue) {
    llvm::Value* above = b_.CreateSub(axis_begin(axis), begin);
    above = emit_min_max(DType::kI64, above, llvm::ConstantInt::getSigned(b_.getInt64Ty(), -kShiftRoom), true);
    state.lowest = b_.CreateTrunc(above, b_.getInt32Ty());
    limit = b_.CreateSub(limit, state.lowest);
  }
  state.limit = limit;
  if (axis.lengths != kNoValue) {
    llvm::Value* block = b_.getInt64(static_cast<uint64_t>(axis.block));
    for (llvm::Value* length : registers(axis.lengths)) {
      // No length is too low to subtract from.
      llvm::Value* end = emit_min_max(DType::kI64, length, begin, /*is_max=*/true);
      llvm::Value* left = emit_min_max(DType::kI64, b_.CreateSub(end, begin), block, /*is_max=*/false);
      state.lane_limits.push_back(b_.CreateTrunc(left, b_.getInt32Ty()));
    }
  }
  axis_states_[static_cast<size_t>(id)] = state;
}

AxisState Lowering::axis_state(AxisId id) {
  const Axis& axis = kernel_.axis(id);
  if (axis.kind == AxisKind::kTile) return axis_states_[static_cast<size_t>(id)];
  AxisState state;
  state.begin = b_.getInt64(0);
  state.limit = b_.CreateTrunc(axis_end(axis), b_.getInt32Ty());
  return state;
}

int64_t Lowering::divisor_of_slot(int slot) const {
  int64_t divisor = 1;
  for (const Guard& guard : kernel_.guards) {
    if (guard.slot != slot) continue;
    if (guard.kind == GuardKind::kEqual) return guard.value;
    if (guard.kind == GuardKind::kDivisible) divisor = std::lcm(divisor, guard.value);
  }
  return divisor;
}

int64_t Lowering::divisor_of(const Expr& expr) const {
  std::vector<int64_t> stack;
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      stack.push_back(step.operand);
    } else if (step.op == ExprOp::kSlot) {
      stack.push_back(divisor_of_slot(static_cast<int>(step.operand)));
    } else {
      const int64_t b = stack.back();
      stack.pop_back();
      int64_t& a = stack.back();
      const bool additive =
          step.op == ExprOp::kAdd || step.op == ExprOp::kSub || step.op == ExprOp::kMin || step.op == ExprOp::kMax;
      a = additive ? std::gcd(a, b) : step.op == ExprOp::kMul ? a * b : 1;
    }
  }
  return stack.back();
}

bool Lowering::axis_is_whole(AxisId id, uint64_t capacity) const {
  const Axis& axis = kernel_.axis(id);
  if (axis.origin != kNoValue || axis.extent_value != kNoValue || axis.begin_value != kNoValue) return false;
  if (axis.kind != AxisKind::kTile) {
    int64_t extent = 0;
    return axis.extent.is_constant(&extent) && extent >= static_cast<int64_t>(capacity);
  }
  return axis.block > 0 && static_cast<int64_t>(capacity) == axis.block && divisor_of(axis.begin) % axis.block == 0 &&
         divisor_of(axis.extent) % axis.block == 0;
}

int64_t Lowering::axis_granule(AxisId id) const {
  const Axis& axis = kernel_.axis(id);
  if (axis.origin != kNoValue || axis.extent_value != kNoValue || axis.begin_value != kNoValue) return 1;
  int64_t divisor = divisor_of(axis.extent);
  if (axis.kind == AxisKind::kTile) divisor = std::gcd(std::gcd(divisor, divisor_of(axis.begin)), axis.block);
  return power_of_two_part(divisor);
}

llvm::Value* Lowering::thread_position(const Layout& layout, int dim) {
  // Digits as fields of the thread number: lanes are its low five bits. Fields that continue each other become one.
  std::vector<std::array<uint32_t, 4>> fields;  // unit, radix, weight, threads of the block
  uint32_t weight = 1;
  for (const Digit& digit : layout.digits(dim)) {
    if (digit.where == Where::kLane || digit.where == Where::kWarp) {
      const uint32_t unit = digit.where == Where::kLane ? digit.unit : digit.unit * 32;
      std::array<uint32_t, 4>* last = fields.empty() ? nullptr : &fields.back();
      if (last != nullptr && unit == (*last)[0] * (*last)[1] && weight == (*last)[2] * (*last)[1]) {
        (*last)[1] *= digit.radix;
      } else {
        fields.push_back({unit, digit.radix, weight, layout.num_warps() * 32});
      }
    }
    weight *= digit.radix;
  }
  if (fields.empty()) return b_.getInt32(0);
  auto [it, is_new] = thread_positions_.try_emplace(fields, nullptr);
  if (!is_new) return it->second;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(entry_->getTerminator());
  llvm::Value* sum = nullptr;
  for (const auto& [unit, radix, field_weight, threads] : fields) {
    llvm::Value* part = unit == 1 ? tid_ : b_.CreateUDiv(tid_, b_.getInt32(unit));
    if (unit * radix < threads) part = b_.CreateURem(part, b_.getInt32(radix));
    part = b_.CreateMul(part, b_.getInt32(field_weight), "", /*HasNUW=*/true, /*HasNSW=*/true);
    sum = sum == nullptr ? part : b_.CreateAdd(sum, part, "", true, true);
  }
  it->second = sum;
  return sum;
}

int Lowering::register_beside(ValueId value, const Type& type, const Layout& layout, uint32_t reg) const {
  const Type& own = kernel_.type(value);
  if (own.is_scalar()) return 0;
  std::vector<int> own_dims, dims;
  for (int i = 0; i < own.rank(); ++i) {
    const AxisId axis = own.axes[static_cast<size_t>(i)];
    const auto found = std::find(type.axes.begin(), type.axes.end(), axis);
    if (axis == kUnitAxis || found == type.axes.end()) continue;
    own_dims.push_back(i);
    dims.push_back(static_cast<int>(found - type.axes.begin()));
  }
  return RegisterMap(kernel_.layout(value), own_dims).find(RegisterMap::parts_of(layout, dims, reg));
}

llvm::Value* Lowering::origin_of(const Type& type, const Layout& layout, int dim, uint32_t reg) {
  const ValueId origin = kernel_.axis(type.axes[static_cast<size_t>(dim)]).origin;
  if (origin == kNoValue) return nullptr;
  const int found = register_beside(origin, type, layout, reg);
  return b_.CreateTrunc(registers(origin)[static_cast<size_t>(std::max(found, 0))], b_.getInt32Ty());
}

llvm::Value* Lowering::limit_of(const Type& type, const Layout& layout, int dim, uint32_t reg) {
  const AxisId id = type.axes[static_cast<size_t>(dim)];
  const AxisState state = axis_state(id);
  if (!is_cut_by_lengths(kernel_, type.axes, id)) return state.limit;
  const int found = register_beside(kernel_.axis(id).lengths, type, layout, reg);
  if (found < 0 && status_) {
    status_ = Status(Code::kInternal, "codegen: no register holds the length of axis " + kernel_.axis(id).name +
                                          " for a lane; its lengths must lie as the values along it do");
  }
  return state.lane_limits[static_cast<size_t>(std::max(found, 0))];
}

llvm::Value* Lowering::shifted_position(const Type& type, const Layout& layout, int dim, uint32_t reg) {
  const auto part = static_cast<uint32_t>(layout.register_part(dim, reg));
  llvm::Value* position = b_.CreateAdd(thread_position(layout, dim), b_.getInt32(part), "", true, true);
  llvm::Value* origin = origin_of(type, layout, dim, reg);
  return origin == nullptr ? position : b_.CreateSub(position, origin);
}

Registers Lowering::existence(const Type& type, const Layout& layout, const std::vector<bool>& is_skipped) {
  Registers masks(register_count(layout), nullptr);
  for (int dim = 0; dim < type.rank(); ++dim) {
    const AxisId id = type.axes[static_cast<size_t>(dim)];
    if (!is_skipped.empty() && is_skipped[static_cast<size_t>(dim)]) continue;
    if (id == kUnitAxis || axis_is_whole(id, layout.capacity(dim))) continue;
    const Axis& axis = kernel_.axis(id);
    const AxisState state = axis_state(id);
    const auto& digits = layout.digits(dim);
    int64_t granule = axis_granule(id);
    if (digits.empty() || digits[0].where != Where::kRegister) granule = 1;
    if (granule > 1) granule = std::gcd(granule, static_cast<int64_t>(digits[0].radix));
    std::map<std::tuple<uint64_t, llvm::Value*, llvm::Value*>, llvm::Value*> known;  // by part, origin and limit
    for (uint32_t reg = 0; reg < masks.size(); ++reg) {
      const uint64_t part =
          layout.register_part(dim, reg) / static_cast<uint64_t>(granule) * static_cast<uint64_t>(granule);
      llvm::Value* origin = origin_of(type, layout, dim, reg);
      llvm::Value* limit = axis.lengths == kNoValue ? state.limit : limit_of(type, layout, dim, reg);
      llvm::Value*& exists = known[{part, origin, limit}];
      if (exists == nullptr && origin == nullptr) {
        llvm::Value* bound = b_.CreateSub(limit, b_.getInt32(static_cast<uint32_t>(part)));
        exists = b_.CreateICmpSLT(thread_position(layout, dim), bound);
      } else if (exists == nullptr) {
        llvm::Value* position =
            b_.CreateSub(b_.CreateAdd(thread_position(layout, dim), b_.getInt32(static_cast<uint32_t>(part))), origin);
        if (state.lowest != nullptr) position = b_.CreateSub(position, state.lowest);
        exists = b_.CreateICmpULT(position, limit);
      }
      masks[reg] = masks[reg] == nullptr ? exists : b_.CreateAnd(masks[reg], exists);
    }
  }
  return masks;
}

void Lowering::lower_index(const Op& op) {
  const Type& type = kernel_.type(op.result());
  const Layout& layout = kernel_.layout(op.result());
  const AxisState state = axis_state(type.axes[0]);
  Registers result;
  for (uint32_t reg = 0; reg < register_count(layout); ++reg) {
    llvm::Value* position = shifted_position(type, layout, 0, reg);
    result.push_back(b_.CreateAdd(state.begin, b_.CreateSExt(position, b_.getInt64Ty())));
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_axis_info(const Op& op) {
  const AxisId id = static_cast<AxisId>(op.int_attr("axis"));
  const Axis& axis = kernel_.axis(id);
  const AxisState state = axis_state(id);
  const std::string what = op.str_attr("what");
  llvm::Value* block = b_.getInt64(static_cast<uint64_t>(axis.block));
  llvm::Value* result = nullptr;
  if (what == "begin") result = state.begin;
  if (what == "end") {
    result = axis.kind == AxisKind::kTile
                 ? emit_min_max(DType::kI64, b_.CreateAdd(state.begin, block), axis_end(axis), false)
                 : axis_end(axis);
  }
  if (what == "id") result = state.id;
  if (what == "block_size") result = block;
  if (what == "count") {
    llvm::Value* length = b_.CreateSub(axis_end(axis), axis_begin(axis));
    result = b_.CreateNeg(emit_int_binary(BinaryFn::kFloorDiv, DType::kI64, b_.CreateNeg(length), block));
  }
  if (result == nullptr) return fail(op, "axis " + axis.name + " has no " + what);
  define(op.result(), {result});
}

}  // namespace kaon::compiler::codegen
