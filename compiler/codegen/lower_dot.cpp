// Products of matrices that lie in shared memory: each thread sums its own elements of the result.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {
namespace {

constexpr unsigned kVectorBytes = 16;

/// Runs of offsets that one access covers: starts, ascending, each a multiple of `count`.
struct SharedRuns {
  unsigned count = 1;  // elements of one access
  std::vector<uint32_t> starts;
};

/// `granule` offsets, aligned, are read by one thread together or not at all.
SharedRuns runs_of(const std::vector<uint32_t>& offsets, unsigned granule, unsigned bytes) {
  SharedRuns runs;
  runs.count = std::max(1u, std::min(granule, kVectorBytes / bytes));
  for (const uint32_t offset : offsets) runs.starts.push_back(offset / runs.count * runs.count);
  std::sort(runs.starts.begin(), runs.starts.end());
  runs.starts.erase(std::unique(runs.starts.begin(), runs.starts.end()), runs.starts.end());
  return runs;
}

/// Neighbours along `dim` that a thread holds, aligned to their number: the largest power of two.
unsigned granule_of(const Layout& layout, int dim) {
  const std::vector<Digit>& digits = layout.digits(dim);
  if (digits.empty() || digits[0].where != Where::kRegister) return 1;
  return digits[0].radix & (~digits[0].radix + 1);
}

int contiguous_dim(const std::vector<int64_t>& strides) {
  const auto found = std::find(strides.begin(), strides.end(), 1);
  return found == strides.end() ? -1 : static_cast<int>(found - strides.begin());
}

/// Sum of strides times what the register index alone gives of each position.
uint32_t register_offset(const Layout& layout, const std::vector<int64_t>& strides, uint32_t reg, int skip = -1) {
  uint64_t offset = 0;
  for (int dim = 0; dim < layout.rank(); ++dim) {
    if (dim != skip)
      offset += layout.register_part(dim, reg) * static_cast<uint64_t>(strides[static_cast<size_t>(dim)]);
  }
  return static_cast<uint32_t>(offset);
}

}  // namespace

/// i32: bytes from the start of shared memory to the thread's first element.
llvm::Value* Lowering::strided_base(int64_t buffer, const Layout& layout, const std::vector<int64_t>& strides,
                                    unsigned bytes, int skip) {
  llvm::Value* base = b_.getInt32(kernel_.shared_buffers[static_cast<size_t>(buffer)].offset);
  for (int dim = 0; dim < layout.rank(); ++dim) {
    const auto stride = static_cast<uint32_t>(strides[static_cast<size_t>(dim)]) * bytes;
    if (dim == skip || stride == 0) continue;
    llvm::Value* part = b_.CreateMul(thread_position(layout, dim), b_.getInt32(stride), "", true, true);
    base = b_.CreateAdd(base, part, "", true, true);
  }
  return base;
}

Registers Lowering::read_shared(llvm::Value* offset, DType dtype, unsigned count) {
  const unsigned bytes = static_cast<unsigned>(dtype_bytes(dtype)) * count;
  const DeviceFunction function = bytes == 1   ? DeviceFunction::kSharedReadB8
                                  : bytes == 2 ? DeviceFunction::kSharedReadB16
                                  : bytes == 4 ? DeviceFunction::kSharedReadB32
                                  : bytes == 8 ? DeviceFunction::kSharedReadB64
                                               : DeviceFunction::kSharedReadB128;
  llvm::Value* loaded = call(function, {offset, site()});
  Words words = {loaded};
  if (bytes > 4) {
    words.clear();
    for (unsigned i = 0; i < bytes / 4; ++i) words.push_back(b_.CreateExtractValue(loaded, i));
  }
  return from_words(words, dtype, count);
}

void Lowering::write_shared(llvm::Value* offset, DType dtype, llvm::ArrayRef<llvm::Value*> elements) {
  const unsigned bytes = static_cast<unsigned>(dtype_bytes(dtype)) * static_cast<unsigned>(elements.size());
  const DeviceFunction function = bytes == 1   ? DeviceFunction::kSharedWriteB8
                                  : bytes == 2 ? DeviceFunction::kSharedWriteB16
                                  : bytes == 4 ? DeviceFunction::kSharedWriteB32
                                  : bytes == 8 ? DeviceFunction::kSharedWriteB64
                                               : DeviceFunction::kSharedWriteB128;
  Words operands = {offset};
  operands.append(memory_words(elements, dtype));
  operands.push_back(site());
  call(function, operands);
}

/// shared_store with `zero`: lanes that are missing along those dims are written as 0, for sums to run over.
void Lowering::lower_dot_store(const Op& op) {
  const ValueId operand = op.operands[0];
  const Type& type = kernel_.type(operand);
  const Layout& layout = kernel_.layout(operand);
  const std::vector<int64_t>& strides = op.ints_attr("strides");
  const std::vector<int64_t>& zero = op.ints_attr("zero");
  const auto bytes = static_cast<unsigned>(dtype_bytes(type.dtype));
  Registers values = registers(operand);
  Type summed = type;
  for (int dim = 0; dim < type.rank(); ++dim) {
    const bool is_zeroed = std::find(zero.begin(), zero.end(), dim) != zero.end();
    const AxisId axis = type.axes[static_cast<size_t>(dim)];
    if (!is_zeroed) summed.axes[static_cast<size_t>(dim)] = kUnitAxis;
    // How far a jagged axis reaches is told by the others.
    if (is_zeroed && axis != kUnitAxis && kernel_.axis(axis).lengths != kNoValue) {
      summed = type;
      break;
    }
  }
  const Registers masks = existence(summed, layout);
  for (size_t reg = 0; reg < values.size(); ++reg) {
    if (masks[reg] == nullptr) continue;
    values[reg] = b_.CreateSelect(masks[reg], values[reg], llvm::Constant::getNullValue(values[reg]->getType()));
  }
  llvm::Value* owner = owner_condition(layout);
  llvm::Value* base = strided_base(op.int_attr("buffer"), layout, strides, bytes, -1);
  llvm::BasicBlock* done = nullptr;
  if (owner != nullptr) {
    llvm::BasicBlock* write = llvm::BasicBlock::Create(context_, "owner", function_);
    done = llvm::BasicBlock::Create(context_, "owner.done", function_);
    b_.CreateCondBr(owner, write, done);
    b_.SetInsertPoint(write);
  }
  std::map<uint32_t, llvm::Value*> elements;
  std::vector<uint32_t> offsets;
  for (uint32_t reg = 0; reg < values.size(); ++reg) {
    offsets.push_back(register_offset(layout, strides, reg));
    elements[offsets.back()] = values[reg];
  }
  const int inner = contiguous_dim(strides);
  const SharedRuns runs = runs_of(offsets, inner < 0 ? 1 : granule_of(layout, inner), bytes);
  for (const uint32_t start : runs.starts) {
    Registers run;
    for (uint32_t i = 0; i < runs.count; ++i) run.push_back(elements[start + i]);
    write_shared(b_.CreateAdd(base, b_.getInt32(start * bytes), "", true, true), type.dtype, run);
  }
  if (done == nullptr) return;
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

/// One operand of a dot as the loop over the summed axis reads it.
struct DotOperand {
  DType dtype = DType::kF32;
  std::vector<int64_t> strides;
  int summed = 0;  // dim of the summed axis in the operand
  llvm::Value* base = nullptr;
  std::vector<uint32_t> offsets;  // by register of the result, in elements
  unsigned granule = 1;           // of neighbours along the dim that is kept
};

/// The operand's elements for `steps` positions of the summed axis, by offset: converted to what products are made in.
std::map<uint32_t, Registers> Lowering::read_dot_operand(const DotOperand& operand, llvm::Value* position,
                                                         unsigned steps) {
  const auto bytes = static_cast<unsigned>(dtype_bytes(operand.dtype));
  const auto stride = static_cast<uint32_t>(operand.strides[static_cast<size_t>(operand.summed)]);
  llvm::Value* moved = b_.CreateMul(position, b_.getInt32(stride * bytes), "", true, true);
  llvm::Value* base = b_.CreateAdd(operand.base, moved, "", true, true);
  const auto at = [&](uint32_t element) { return b_.CreateAdd(base, b_.getInt32(element * bytes), "", true, true); };
  std::map<uint32_t, Registers> read;
  if (stride == 1) {
    const unsigned count = std::min(steps, kVectorBytes / bytes);
    for (const uint32_t start : runs_of(operand.offsets, 1, bytes).starts) {
      for (unsigned step = 0; step < steps; step += count) {
        for (llvm::Value* element : read_shared(at(start + step), operand.dtype, count)) read[start].push_back(element);
      }
    }
  } else {
    const SharedRuns runs = runs_of(operand.offsets, operand.granule, bytes);
    for (unsigned step = 0; step < steps; ++step) {
      for (const uint32_t start : runs.starts) {
        const Registers run = read_shared(at(start + step * stride), operand.dtype, runs.count);
        for (uint32_t i = 0; i < runs.count; ++i) read[start + i].push_back(run[i]);
      }
    }
  }
  for (auto& [offset, elements] : read) {
    for (llvm::Value*& element : elements) {
      element = dtype_is_float(operand.dtype) ? widen(element, operand.dtype)
                                              : cast_value(element, operand.dtype, DType::kI32);
    }
  }
  return read;
}

/// How many positions of the summed axis this tile has: i32.
llvm::Value* Lowering::summed_positions(AxisId id) {
  const Axis& axis = kernel_.axis(id);
  llvm::Value* capacity = b_.getInt32(static_cast<uint32_t>(axis.block));
  if (axis_is_whole(id, static_cast<uint64_t>(axis.block))) return capacity;
  llvm::Value* limit = axis_state(id).limit;
  return b_.CreateSelect(b_.CreateICmpSLT(limit, capacity), limit, capacity);
}

void Lowering::lower_dot_shared(const Op& op) {
  const Type& type = kernel_.type(op.result());
  const Layout& layout = kernel_.layout(op.result());
  const auto axis = static_cast<AxisId>(op.int_attr("axis"));
  if (kernel_.axis(axis).origin != kNoValue) return fail(op, "the summed axis cannot be shifted");
  DotOperand operands[2];
  for (int i = 0; i < 2; ++i) {
    DotOperand& operand = operands[i];
    const std::string name = i == 0 ? "a" : "b";
    parse_dtype(op.str_attr("dtype"), &operand.dtype);
    operand.strides = op.ints_attr(name + "_strides");
    operand.summed = type.rank() - 1 - i;
    const int kept = type.rank() - 2 + i;
    // The kept dim of the operand is the result's own; its place in the list is the same.
    operand.base = strided_base(op.int_attr(name), layout, operand.strides,
                                static_cast<unsigned>(dtype_bytes(operand.dtype)), operand.summed);
    for (uint32_t reg = 0; reg < register_count(layout); ++reg) {
      operand.offsets.push_back(register_offset(layout, operand.strides, reg, operand.summed));
    }
    if (contiguous_dim(operand.strides) == kept) operand.granule = granule_of(layout, kept);
  }
  Registers sums = op.operands.empty()
                       ? Registers(register_count(layout), llvm::Constant::getNullValue(element_type(type.dtype)))
                       : registers(op.operands[0]);
  // Enough steps in one turn to hide the loop, few enough for its code to stay small.
  constexpr unsigned kTurnProducts = 256;
  unsigned steps = 8;
  while (steps > 1 && (kernel_.axis(axis).block % steps != 0 || steps * sums.size() > kTurnProducts)) steps /= 2;

  llvm::Value* end = summed_positions(axis);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context_, "dot", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "dot.body", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "dot.done", function_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* position = b_.CreatePHI(b_.getInt32Ty(), 2);
  position->addIncoming(b_.getInt32(0), before);
  std::vector<llvm::PHINode*> phis;
  for (llvm::Value*& sum : sums) {
    phis.push_back(b_.CreatePHI(sum->getType(), 2));
    phis.back()->addIncoming(sum, before);
    sum = phis.back();
  }
  b_.CreateCondBr(b_.CreateICmpSLT(position, end), body, done);
  b_.SetInsertPoint(body);
  const auto a = read_dot_operand(operands[0], position, steps);
  const auto b = read_dot_operand(operands[1], position, steps);
  for (unsigned step = 0; step < steps; ++step) {
    for (uint32_t reg = 0; reg < sums.size(); ++reg) {
      sums[reg] = multiply_add(a.at(operands[0].offsets[reg])[step], b.at(operands[1].offsets[reg])[step], sums[reg]);
    }
  }
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  for (size_t reg = 0; reg < sums.size(); ++reg) phis[reg]->addIncoming(sums[reg], latch);
  position->addIncoming(b_.CreateAdd(position, b_.getInt32(steps), "", true, true), latch);
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
  define(op.result(), Registers(phis.begin(), phis.end()));
}

/// a * b + sum; floats may be rounded once for both.
llvm::Value* Lowering::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
  if (sum->getType()->isIntegerTy()) return b_.CreateAdd(sum, b_.CreateMul(a, b));
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
  return b_.CreateFAdd(b_.CreateFMul(a, b), sum);
}

}  // namespace kaon::compiler::codegen
