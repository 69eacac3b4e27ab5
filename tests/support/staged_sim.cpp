// Calls, guards and control flow of the simulated block.
#include "tests/support/staged_sim.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/ir/printer.h"
#include "runtime/base/guards.h"
#include "tests/support/staged_machine.h"

namespace kaon::compiler {

SimTensor dense_tensor(std::vector<int64_t> sizes, int64_t address, int64_t row_padding) {
  SimTensor tensor;
  tensor.strides.resize(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= sizes[i] + (i + 1 == sizes.size() ? row_padding : 0);
  }
  tensor.data.resize(static_cast<size_t>(stride));
  tensor.address = address;
  tensor.sizes = std::move(sizes);
  return tensor;
}

std::vector<int64_t> slots_of(const Signature& signature, const SimCall& call) {
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 0);
  for (int t = 0; t < signature.num_tensors(); ++t) {
    slots[static_cast<size_t>(signature.pointer_slot(t))] = call.tensors[static_cast<size_t>(t)].address;
    for (size_t axis = 0; axis < call.tensors[static_cast<size_t>(t)].strides.size(); ++axis) {
      slots[static_cast<size_t>(signature.stride_slot(t, static_cast<int>(axis)))] =
          call.tensors[static_cast<size_t>(t)].strides[axis];
    }
  }
  for (size_t d = 0; d < call.dims.size(); ++d)
    slots[static_cast<size_t>(signature.dim_slot(static_cast<int>(d)))] = call.dims[d];
  for (size_t s = 0; s < call.scalar_slots.size(); ++s) {
    slots[static_cast<size_t>(signature.scalar_slot(static_cast<int>(s)))] = call.scalar_slots[s];
  }
  return slots;
}

bool accepts(const Kernel& kernel, const SimCall& call) {
  return first_refusing(kernel.signature, kernel.guards, slots_of(kernel.signature, call).data()) < 0;
}

StagedMachine::StagedMachine(const Kernel& kernel, SimCall* call)
    : kernel_(kernel), call_(*call), slots_(slots_of(kernel.signature, *call)), num_threads_(kernel.num_warps * 32) {}

Status StagedMachine::run_program(int64_t program) {
  program_ = program;
  values_.assign(kernel_.values.size(), {});
  begins_.clear();
  shared_.assign(kernel_.plan.shared_bytes, {});
  stores_.clear();
  for (size_t i = 0; i < kernel_.scalar_params.size(); ++i) {
    allocate(kernel_.scalar_params[i]);
    const ScalarParam& param = kernel_.signature.scalars[i];
    const int64_t bits = call_.scalar_slots[i];
    double value = static_cast<double>(bits);
    if (param.dtype == DType::kF32) {
      float narrow = 0;
      __builtin_memcpy(&narrow, &bits, sizeof narrow);
      value = narrow;
    }
    for (SimCell& c : values_[static_cast<size_t>(kernel_.scalar_params[i])]) c = {value, true};
  }
  run_region(kernel_.body);
  return status_;
}

void StagedMachine::fail(const Op& op, const std::string& message) {
  if (status_)
    status_ =
        Status(Code::kInternal, "program " + std::to_string(program_) + ": " + print_op(kernel_, op) + ": " + message);
}

uint32_t StagedMachine::registers(ValueId value) const {
  return kernel_.layout(value).empty() ? 1 : kernel_.layout(value).num_registers();
}

Place StagedMachine::place(int thread, uint32_t reg) const {
  return {reg, static_cast<uint32_t>(thread % 32), static_cast<uint32_t>(thread / 32), 0};
}

SimCell& StagedMachine::cell(ValueId value, int thread, uint32_t reg) {
  return values_[static_cast<size_t>(value)][static_cast<size_t>(thread) * registers(value) + reg];
}

void StagedMachine::allocate(ValueId value) {
  values_[static_cast<size_t>(value)].assign(static_cast<size_t>(num_threads_) * registers(value), {});
}

/// A scalar that all threads must agree on: bounds of loops, conditions, slices.
int64_t StagedMachine::uniform(const Op& op, ValueId scalar) {
  const SimCell first = cell(scalar, 0, 0);
  for (int t = 0; t < num_threads_; ++t) {
    const SimCell& c = cell(scalar, t, 0);
    if (!c.is_defined || c.value != first.value) fail(op, "a scalar differs between threads or holds nothing");
  }
  return static_cast<int64_t>(first.value);
}

void StagedMachine::run_region(const Region& region) {
  for (const auto& op : region.ops) {
    if (!status_) return;
    run_op(*op);
  }
}

void StagedMachine::run_op(const Op& op) {
  for (const ValueId result : op.results) allocate(result);
  switch (op.kind) {
    case OpKind::kConst:
    case OpKind::kExpr: return run_const(op);
    case OpKind::kIndex: return run_index(op);
    case OpKind::kAxisInfo: return run_axis_info(op);
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kReuse:
    case OpKind::kCast: return run_elementwise(op);
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBroadcast:
    case OpKind::kPermute: return run_view(op);
    case OpKind::kPick: return run_pick(op);
    case OpKind::kLoad:
    case OpKind::kStore: return run_access(op);
    case OpKind::kReduceThread: return run_reduce_thread(op);
    case OpKind::kReduceLanes: return run_reduce_lanes(op);
    case OpKind::kSharedStore: return run_shared_store(op);
    case OpKind::kSharedLoad: return run_shared_load(op);
    case OpKind::kBarrier: return run_barrier();
    case OpKind::kGrid: return run_grid(op);
    case OpKind::kLoop: return run_loop(op);
    case OpKind::kIf: return run_if(op);
    case OpKind::kWhile: return run_while(op);
    case OpKind::kYield: return;
    default: return fail(op, "no op of the staged form");
  }
}

void StagedMachine::run_grid(const Op& op) {
  int64_t rest = program_;
  const auto& axes = op.ints_attr("axes");
  for (size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = kernel_.axis(static_cast<AxisId>(axes[i]));
    const int64_t count = (eval(axis.extent) - eval(axis.begin) + axis.block - 1) / axis.block;
    begins_[static_cast<AxisId>(axes[i])] = eval(axis.begin) + (i == 0 ? rest : rest % count) * axis.block;
    rest /= count;
  }
  run_region(op.regions[0]);
}

void StagedMachine::run_loop(const Op& op) {
  const auto id = static_cast<AxisId>(op.int_attr("axis"));
  const Axis& axis = kernel_.axis(id);
  const int64_t first = axis.begin_value != kNoValue ? uniform(op, axis.begin_value) : eval(axis.begin);
  const int64_t end = axis.extent_value != kNoValue ? uniform(op, axis.extent_value) : eval(axis.extent);
  std::vector<Values> carried;
  for (const ValueId init : op.operands) carried.push_back(values_[static_cast<size_t>(init)]);
  for (int64_t begin = first; begin < end + op.int_attr("extra"); begin += axis.block) {
    begins_[id] = begin;
    for (size_t i = 0; i < carried.size(); ++i) values_[static_cast<size_t>(op.regions[0].args[i])] = carried[i];
    run_region(op.regions[0]);
    if (!status_) return;
    for (size_t i = 0; i < carried.size(); ++i) {
      carried[i] = values_[static_cast<size_t>(op.regions[0].ops.back()->operands[i])];
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) values_[static_cast<size_t>(op.results[i])] = carried[i];
}

void StagedMachine::run_if(const Op& op) {
  const Region& taken = op.regions[uniform(op, op.operands[0]) != 0 ? 0 : 1];
  run_region(taken);
  for (size_t i = 0; i < op.results.size() && status_; ++i) {
    values_[static_cast<size_t>(op.results[i])] = values_[static_cast<size_t>(taken.ops.back()->operands[i])];
  }
}

void StagedMachine::run_while(const Op& op) {
  std::vector<Values> carried;
  for (const ValueId init : op.operands) carried.push_back(values_[static_cast<size_t>(init)]);
  while (status_) {
    for (size_t i = 0; i < carried.size(); ++i) {
      for (const Region& region : op.regions) values_[static_cast<size_t>(region.args[i])] = carried[i];
    }
    run_region(op.regions[0]);
    if (!status_ || uniform(op, op.regions[0].ops.back()->operands[0]) == 0) break;
    run_region(op.regions[1]);
    for (size_t i = 0; i < carried.size() && status_; ++i) {
      carried[i] = values_[static_cast<size_t>(op.regions[1].ops.back()->operands[i])];
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) values_[static_cast<size_t>(op.results[i])] = carried[i];
}

Result<SimCounts> simulate(const Kernel& staged, SimCall* call) {
  StagedMachine machine(staged, call);
  const std::vector<int64_t> slots = slots_of(staged.signature, *call);
  // The blocks of a cluster are one machine here.
  const int64_t programs = staged.plan.programs.evaluate(slots.data()) / staged.plan.cluster;
  for (int64_t program = 0; program < programs; ++program) KAON_RETURN_IF_ERROR(machine.run_program(program));
  return machine.counts;
}

}  // namespace kaon::compiler
