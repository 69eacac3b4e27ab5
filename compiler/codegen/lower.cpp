// The function around a staged kernel: parameters, constants, and which lowering each op has.
#include "compiler/codegen/lower.h"

#include <algorithm>

#include "compiler/config/cluster.h"

#include <llvm/IR/Constants.h>

namespace kaon::compiler::codegen {

Lowering::Lowering(const Kernel& kernel, const Target& target, llvm::Module& module)
    : kernel_(kernel),
      target_(target),
      module_(module),
      context_(module.getContext()),
      b_(module.getContext()),
      values_(kernel.values.size()),
      axis_states_(kernel.axes.size()) {}

Status Lowering::run(const std::string& symbol) {
  if (kernel_.stage != Stage::kStaged) return Status(Code::kInternal, "code generation needs a staged kernel");
  make_function(symbol);
  for (size_t i = 0; i < kernel_.scalar_params.size(); ++i) {
    const DType dtype = kernel_.signature.scalars[i].dtype;
    llvm::Value* bits = slot(kernel_.signature.scalar_slot(static_cast<int>(i)));
    llvm::Type* memory = b_.getIntNTy(static_cast<unsigned>(dtype_bytes(dtype)) * 8);
    if (kernel_.scalar_params[i] != kNoValue) {
      define(kernel_.scalar_params[i], {from_memory(b_.CreateTrunc(bits, memory), dtype)});
    }
  }
  plan_fills();
  // No block may write into another's shared memory before that one runs, nor end while others may still use its own.
  const bool meets = kernel_.plan.cluster > 1 && std::any_of(kernel_.body.ops.begin(), kernel_.body.ops.end(),
                                                             [](const auto& op) { return uses_shared(*op); });
  if (meets) call(DeviceFunction::kClusterArrive, {});
  cluster_is_ready_ = !meets;
  lower_region(kernel_.body);
  if (meets) call(DeviceFunction::kBarrier, {site()});
  b_.CreateRetVoid();
  return status_;
}

void Lowering::make_function(const std::string& symbol) {
  const int num_slots = kernel_.signature.num_slots();
  llvm::SmallVector<llvm::Type*, 32> parameters(static_cast<size_t>(num_slots), b_.getInt64Ty());
  if (target_.is_host) parameters.assign(2, b_.getPtrTy());
  llvm::FunctionType* type = llvm::FunctionType::get(b_.getVoidTy(), parameters, /*isVarArg=*/false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, symbol, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "body", function_);
  b_.SetInsertPoint(entry_);
  thread_ =
      target_.is_host ? static_cast<llvm::Value*>(function_->getArg(0)) : llvm::ConstantPointerNull::get(b_.getPtrTy());
  for (int i = 0; i < num_slots; ++i) {
    llvm::Value* value = nullptr;
    if (target_.is_host) {
      llvm::LoadInst* load =
          b_.CreateLoad(b_.getInt64Ty(),
                        b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), function_->getArg(1), static_cast<uint64_t>(i)));
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      value = load;
    } else {
      value = function_->getArg(static_cast<unsigned>(i));
    }
    slots_.push_back(value);
  }
  for (const Guard& guard : kernel_.guards) {
    if (guard.kind == GuardKind::kEqual) slots_[guard.slot] = b_.getInt64(static_cast<uint64_t>(guard.value));
  }
  tid_ = call(DeviceFunction::kTid, {});
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
}

void Lowering::fail(const Op& op, const std::string& message) {
  if (status_.is_ok()) status_ = Status(Code::kInternal, std::string(op_info(op.kind).text) + ": " + message);
}

llvm::CallInst* Lowering::call(DeviceFunction function, llvm::ArrayRef<llvm::Value*> operands,
                               llvm::StringRef modifiers) {
  llvm::SmallVector<llvm::Value*, 8> all = {thread_};
  all.append(operands.begin(), operands.end());
  return b_.CreateCall(declare_device_function(module_, function, modifiers), all);
}

llvm::Type* Lowering::element_type(DType dtype) {
  switch (dtype) {
    case DType::kBool: return b_.getInt1Ty();
    case DType::kF32: return b_.getFloatTy();
    case DType::kF64: return b_.getDoubleTy();
    default: return b_.getIntNTy(static_cast<unsigned>(dtype_bytes(dtype)) * 8);
  }
}

llvm::Constant* Lowering::int_constant(DType dtype, int64_t value) {
  if (dtype_is_float(dtype)) return float_constant(dtype, static_cast<double>(value));
  if (dtype == DType::kBool) return b_.getInt1(value != 0);
  return llvm::ConstantInt::getSigned(element_type(dtype), value);
}

llvm::Constant* Lowering::float_constant(DType dtype, double value) {
  if (dtype == DType::kF32 || dtype == DType::kF64) return llvm::ConstantFP::get(element_type(dtype), value);
  const llvm::fltSemantics* semantics = &llvm::APFloat::IEEEhalf();
  if (dtype == DType::kBF16) semantics = &llvm::APFloat::BFloat();
  if (dtype == DType::kF8E4M3) semantics = &llvm::APFloat::Float8E4M3FN();
  if (dtype == DType::kF8E5M2) semantics = &llvm::APFloat::Float8E5M2();
  llvm::APFloat rounded(value);
  bool loses = false;
  rounded.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &loses);
  return llvm::ConstantInt::get(context_, rounded.bitcastToAPInt());
}

void Lowering::lower_const(const Op& op) {
  const ValueId result = op.result();
  const DType dtype = kernel_.type(result).dtype;
  const Attr* value = op.find_attr("value");
  llvm::Constant* constant = nullptr;
  if (const auto* integer = std::get_if<int64_t>(value)) constant = int_constant(dtype, *integer);
  if (const auto* number = std::get_if<double>(value)) constant = float_constant(dtype, *number);
  if (constant == nullptr) return fail(op, "attribute value is no number");
  define(result, Registers(register_count(kernel_.layout(result)), constant));
}

void Lowering::lower_region(const Region& region) {
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::kYield) continue;
    if (!cluster_is_ready_ && op->kind != OpKind::kGrid && op->kind != OpKind::kIf && uses_shared(*op)) await_cluster();
    lower_op(*op);
    if (!status_.is_ok()) return;
    propagate_missing(*op);
  }
}

/// As late as can be, so that what a block loads first is under way while it waits for the others to start.
void Lowering::await_cluster() {
  call(DeviceFunction::kClusterWait, {});
  cluster_is_ready_ = true;
}

void Lowering::lower_op(const Op& op) {
  switch (op.kind) {
    case OpKind::kConst: return lower_const(op);
    case OpKind::kExpr: return define(op.result(), {emit_expr(std::get<Expr>(*op.find_attr("expr")))});
    case OpKind::kIndex: return lower_index(op);
    case OpKind::kAxisInfo: return lower_axis_info(op);
    case OpKind::kUnary: return lower_unary(op);
    case OpKind::kBinary: return lower_binary(op);
    case OpKind::kCompare: return lower_compare(op);
    case OpKind::kSelect: return lower_select(op);
    case OpKind::kCast: return lower_cast(op);
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBroadcast:
    case OpKind::kPermute: return lower_view(op);
    case OpKind::kPick: return lower_pick(op);
    case OpKind::kReuse: return lower_reuse(op);
    case OpKind::kRetile: return lower_retile(op);
    case OpKind::kMerge: return lower_merge(op);
    case OpKind::kLoad: return lower_load(op);
    case OpKind::kStore: return lower_store(op);
    case OpKind::kAtomic: return lower_atomic(op);
    case OpKind::kAssert: return lower_assert(op);
    case OpKind::kPrint: return lower_print(op);
    case OpKind::kReduceThread: return lower_reduce_thread(op);
    case OpKind::kReduceLanes: return lower_reduce_lanes(op);
    case OpKind::kFoldThread: return lower_fold_thread(op);
    case OpKind::kFoldLanes: return lower_fold_lanes(op);
    case OpKind::kScanThread: return lower_scan_thread(op);
    case OpKind::kScanLanes: return lower_scan_lanes(op);
    case OpKind::kGrid: return lower_grid(op);
    case OpKind::kLoop: return lower_loop(op);
    case OpKind::kIf: return lower_if(op);
    case OpKind::kWhile: return lower_while(op);
    case OpKind::kSharedStore: return op.find_attr("zero") == nullptr ? lower_shared_store(op) : lower_dot_store(op);
    case OpKind::kDotShared: return lower_dot_shared(op);
    case OpKind::kSharedLoad: return lower_shared_load(op);
    case OpKind::kBarrier: call(DeviceFunction::kBarrier, {site()}); return;
    default: return fail(op, "not an op of the staged stage");
  }
}

}  // namespace kaon::compiler::codegen
