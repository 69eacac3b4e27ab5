// Atomics: one instruction where the target has it, else a loop around a compare-and-swap of the element's own size.
#include <llvm/IR/Constants.h>

#include "compiler/codegen/access.h"
#include "compiler/codegen/lower.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler::codegen {
namespace {

/// "add.u32": operation and type as PTX names them; both targets read it.
std::string operation_text(AtomicFn fn, DType dtype) {
  const std::string bits = std::to_string(dtype_bytes(dtype) * 8);
  const bool is_bits = fn != AtomicFn::kAdd && fn != AtomicFn::kMin && fn != AtomicFn::kMax;
  const std::string name = fn == AtomicFn::kXchg ? "exch" : atomic_text(fn);
  if (is_bits) return name + ".b" + bits;
  if (dtype == DType::kF16) return name + ".noftz.f16";
  if (dtype == DType::kBF16) return name + ".noftz.bf16";
  if (dtype_is_float(dtype)) return name + ".f" + bits;
  return name + (fn != AtomicFn::kAdd && dtype_is_signed(dtype) ? ".s" : ".u") + bits;
}

}  // namespace

/// Whether one instruction does it.
bool Lowering::has_atomic(AtomicFn fn, DType dtype) const {
  const int bytes = dtype_bytes(dtype);
  if (fn == AtomicFn::kCas) return true;
  if (fn == AtomicFn::kXchg) return bytes >= 4;
  if (!dtype_is_float(dtype)) return bytes >= 4;
  if (fn != AtomicFn::kAdd) return false;
  if (bytes >= 4) return true;
  return !target_.is_host && (dtype == DType::kF16 || target_.sm >= 90);
}

llvm::Value* Lowering::call_sized(const DeviceFunction (&functions)[3], DType dtype,
                                  llvm::ArrayRef<llvm::Value*> operands, llvm::StringRef modifiers) {
  const int bytes = dtype_bytes(dtype);
  return call(functions[bytes == 2 ? 0 : bytes == 4 ? 1 : 2], operands, modifiers);
}

/// The old element, or null when nobody asks for it and the instruction does not say.
llvm::Value* Lowering::emit_atomic(const AtomicKind& kind, llvm::Value* address, llvm::Value* value,
                                   llvm::Value* expected) {
  static constexpr DeviceFunction kAtomics[] = {DeviceFunction::kAtomicB16, DeviceFunction::kAtomicB32,
                                                DeviceFunction::kAtomicB64};
  static constexpr DeviceFunction kReductions[] = {DeviceFunction::kRedB16, DeviceFunction::kRedB32,
                                                   DeviceFunction::kRedB64};
  static constexpr DeviceFunction kSwaps[] = {DeviceFunction::kCasB16, DeviceFunction::kCasB32,
                                              DeviceFunction::kCasB64};
  const std::string order = std::string(".") + order_text(kind.order);
  if (!has_atomic(kind.fn, kind.dtype)) return b_.CreateCall(atomic_loop(kind), {thread_, address, value});
  llvm::Value* bits = to_memory(value, kind.dtype);
  if (kind.fn == AtomicFn::kCas) {
    llvm::Value* old = call_sized(kSwaps, kind.dtype, {address, to_memory(expected, kind.dtype), bits}, order);
    return from_memory(old, kind.dtype);
  }
  const std::string modifiers = order + "." + operation_text(kind.fn, kind.dtype);
  const bool can_reduce =
      kind.fn != AtomicFn::kXchg && (kind.order == MemoryOrder::kRelaxed || kind.order == MemoryOrder::kRelease);
  if (!kind.is_used && can_reduce) return call_sized(kReductions, kind.dtype, {address, bits}, modifiers), nullptr;
  return from_memory(call_sized(kAtomics, kind.dtype, {address, bits}, modifiers), kind.dtype);
}

/// old = *address; while the swap of old for combine(old, value) fails, old = what it found. A minimum or maximum that
/// changes nothing swaps nothing, unless its order matters.
llvm::Function* Lowering::atomic_loop(const AtomicKind& kind) {
  static constexpr DeviceFunction kLoads[] = {DeviceFunction::kLoadB16, DeviceFunction::kLoadB32,
                                              DeviceFunction::kLoadB64};
  static constexpr DeviceFunction kSwaps[] = {DeviceFunction::kCasB16, DeviceFunction::kCasB32,
                                              DeviceFunction::kCasB64};
  const std::string name =
      std::string("kaon_atomic_") + atomic_text(kind.fn) + "_" + dtype_name(kind.dtype) + "_" + order_text(kind.order);
  if (llvm::Function* known = module_.getFunction(name)) return known;
  llvm::Type* type = element_type(kind.dtype);
  llvm::FunctionType* signature =
      llvm::FunctionType::get(type, {b_.getPtrTy(), b_.getInt64Ty(), type}, /*isVarArg=*/false);
  llvm::Function* function = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  llvm::Value* const outer_thread = thread_;
  thread_ = function->getArg(0);
  llvm::Value* address = function->getArg(1);
  llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", function);
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(context_, "loop", function);
  llvm::BasicBlock* swap = llvm::BasicBlock::Create(context_, "swap", function);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "done", function);
  b_.SetInsertPoint(entry);
  llvm::Value* first = call_sized(kLoads, kind.dtype, {address}, "");
  if (dtype_bytes(kind.dtype) == 8) {
    llvm::Value* words[] = {b_.CreateExtractValue(first, 0), b_.CreateExtractValue(first, 1)};
    first = to_memory(from_words(words, kind.dtype, 1)[0], kind.dtype);
  }
  b_.CreateBr(loop);
  b_.SetInsertPoint(loop);
  llvm::PHINode* old = b_.CreatePHI(first->getType(), 2);
  old->addIncoming(first, entry);
  llvm::Value* element = from_memory(old, kind.dtype);
  llvm::Value* next = combine_atomic(kind, element, function->getArg(2));
  llvm::Value* bits = to_memory(next, kind.dtype);
  const bool may_skip = kind.order == MemoryOrder::kRelaxed && (kind.fn == AtomicFn::kMin || kind.fn == AtomicFn::kMax);
  if (may_skip) {
    b_.CreateCondBr(b_.CreateICmpEQ(bits, old), done, swap);
  } else {
    b_.CreateBr(swap);
  }
  b_.SetInsertPoint(swap);
  llvm::Value* found = call_sized(kSwaps, kind.dtype, {address, old, bits}, std::string(".") + order_text(kind.order));
  old->addIncoming(found, swap);
  b_.CreateCondBr(b_.CreateICmpEQ(found, old), done, loop);
  b_.SetInsertPoint(done);
  b_.CreateRet(element);
  thread_ = outer_thread;
  return function;
}

llvm::Value* Lowering::combine_atomic(const AtomicKind& kind, llvm::Value* old, llvm::Value* value) {
  switch (kind.fn) {
    case AtomicFn::kAdd: return emit_binary(BinaryFn::kAdd, kind.dtype, old, value);
    case AtomicFn::kMin: return emit_binary(BinaryFn::kMin, kind.dtype, old, value);
    case AtomicFn::kMax: return emit_binary(BinaryFn::kMax, kind.dtype, old, value);
    case AtomicFn::kAnd: return emit_binary(BinaryFn::kAnd, kind.dtype, old, value);
    case AtomicFn::kOr: return emit_binary(BinaryFn::kOr, kind.dtype, old, value);
    case AtomicFn::kXor: return emit_binary(BinaryFn::kXor, kind.dtype, old, value);
    default: return value;
  }
}

void Lowering::lower_atomic(const Op& op) {
  Access access;
  if (!analyse_access(op, access)) return;
  const AccessOperands operands = access_operands(op);
  AtomicKind kind;
  kind.dtype = access.dtype;
  kind.is_used = count_uses(kernel_)[static_cast<size_t>(op.result())] > 0;
  if (!parse_atomic(op.str_attr("fn"), &kind.fn) || !parse_order(op.str_attr("order"), &kind.order)) {
    return fail(op, "no such function or order");
  }
  const Registers masks = access_masks(access, -1);
  llvm::Value* owner = owner_condition(*access.layout);
  llvm::Value* nothing = llvm::Constant::getNullValue(element_type(access.dtype));
  Registers result;
  for (uint32_t reg = 0; reg < masks.size(); ++reg) {
    llvm::Value* address = access_address(access, reg);
    llvm::Value* value = registers(operands.value)[reg];
    llvm::Value* expected = operands.expected == kNoValue ? nullptr : registers(operands.expected)[reg];
    llvm::Value* mask = masks[reg];
    if (owner != nullptr) mask = mask == nullptr ? owner : b_.CreateAnd(mask, owner);
    if (mask == nullptr) {
      llvm::Value* old = emit_atomic(kind, address, value, expected);
      result.push_back(old == nullptr ? nothing : old);
      continue;
    }
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* act = llvm::BasicBlock::Create(context_, "atomic", function_);
    llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "atomic.done", function_);
    b_.CreateCondBr(mask, act, done);
    b_.SetInsertPoint(act);
    llvm::Value* old = emit_atomic(kind, address, value, expected);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    if (old == nullptr) {
      result.push_back(nothing);
      continue;
    }
    llvm::PHINode* merged = b_.CreatePHI(old->getType(), 2);
    merged->addIncoming(nothing, before);
    merged->addIncoming(old, act);
    result.push_back(merged);
  }
  define(op.result(), std::move(result));
}

}  // namespace kaon::compiler::codegen
