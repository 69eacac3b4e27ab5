// Bodies of the device functions for NVIDIA GPUs: NVVM intrinsics, and inline PTX where LLVM has none.
#include <string>

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Support/ModRef.h>

#include "compiler/codegen/device_functions.h"

namespace kaon::compiler::codegen {
namespace {

using llvm::Value;

class NvptxBinder {
 public:
  NvptxBinder(llvm::Module& module, uint32_t cluster, uint32_t threads)
      : module_(module), b_(module.getContext()), is_cluster_(cluster > 1), threads_(threads) {}

  void bind(llvm::Function& function, const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "", &function));
    args_.clear();
    for (llvm::Argument& argument : llvm::drop_begin(function.args())) args_.push_back(&argument);
    result_type_ = function.getReturnType();
    Value* result = body(info, modifiers);
    if (result_type_->isVoidTy()) {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(result);
    }
  }

 private:
  Value* body(const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    const llvm::StringRef name = info.name;
    if (name.starts_with("shared.read")) return shared_read(access_width(info.function));
    if (name.starts_with("shared.write")) return shared_write(access_width(info.function));
    if (name.starts_with("ld.global")) return global_load(info, modifiers);
    if (name.starts_with("st.global")) return global_store(info, modifiers);
    if (name.starts_with("atom") || name.starts_with("red") || name.starts_with("cas")) return atomic(name, modifiers);
    switch (info.function) {
      case DeviceFunction::kTid: return thread_index();
      case DeviceFunction::kProgram:
        return intrinsic(
            is_cluster_ ? llvm::Intrinsic::nvvm_read_ptx_sreg_clusterid_x : llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
            {});
      case DeviceFunction::kBarrier:
        if (!is_cluster_) return intrinsic(llvm::Intrinsic::nvvm_barrier0, {});
        intrinsic(llvm::Intrinsic::nvvm_barrier_cluster_arrive_aligned, {});
        return intrinsic(llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {});
      case DeviceFunction::kClusterArrive:
        return intrinsic(llvm::Intrinsic::nvvm_barrier_cluster_arrive_relaxed_aligned, {});
      case DeviceFunction::kClusterWait: return intrinsic(llvm::Intrinsic::nvvm_barrier_cluster_wait_aligned, {});
      case DeviceFunction::kShuffleXor:
        return intrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32,
                         {b_.getInt32(0xffffffffu), args_[0], args_[1], b_.getInt32(31)});
      case DeviceFunction::kFail: fail(); return b_.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
      case DeviceFunction::kPrint: return print();
      case DeviceFunction::kF16ToF32:
        return b_.CreateFPExt(b_.CreateBitCast(args_[0], b_.getHalfTy()), b_.getFloatTy());
      case DeviceFunction::kF32ToF16:
        return b_.CreateBitCast(b_.CreateFPTrunc(args_[0], b_.getHalfTy()), b_.getInt16Ty());
      case DeviceFunction::kF32ToBf16:
        return b_.CreateBitCast(b_.CreateFPTrunc(args_[0], b_.getBFloatTy()), b_.getInt16Ty());
      case DeviceFunction::kF32PairToF16:  // the first operand of cvt becomes the high half
        return b_.CreateBitCast(intrinsic(llvm::Intrinsic::nvvm_ff2f16x2_rn, {args_[1], args_[0]}), b_.getInt32Ty());
      case DeviceFunction::kF32PairToBf16:
        return b_.CreateBitCast(intrinsic(llvm::Intrinsic::nvvm_ff2bf16x2_rn, {args_[1], args_[0]}), b_.getInt32Ty());
      case DeviceFunction::kF32PairToE4M3:  // LLVM 19 has no intrinsics for 8 bits
        return assembly("cvt.rn.satfinite.e4m3x2.f32 $0, $2, $1;", "=h,f,f", b_.getInt16Ty(), args_, Effect::kNone);
      case DeviceFunction::kF32PairToE5M2:
        return assembly("cvt.rn.satfinite.e5m2x2.f32 $0, $2, $1;", "=h,f,f", b_.getInt16Ty(), args_, Effect::kNone);
      case DeviceFunction::kE4M3PairToF16:
        return assembly("cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", b_.getInt32Ty(), args_, Effect::kNone);
      case DeviceFunction::kExp2F32: return intrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {args_[0]});
      case DeviceFunction::kLog2F32: return intrinsic(llvm::Intrinsic::nvvm_lg2_approx_f, {args_[0]});
      case DeviceFunction::kRcpF32: return intrinsic(llvm::Intrinsic::nvvm_rcp_rn_f, {args_[0]});
      case DeviceFunction::kRsqrtF32: return intrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_f, {args_[0]});
      case DeviceFunction::kDivF32:
        return assembly("div.full.f32 $0, $1, $2;", "=f,f,f", b_.getFloatTy(), args_, Effect::kNone);
      default: return llvm::PoisonValue::get(result_type_);
    }
  }

  Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> operands) {
    return b_.CreateCall(llvm::Intrinsic::getDeclaration(&module_, id), operands);
  }

  Value* thread_index() {
    Value* own = intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    if (!is_cluster_) return own;
    Value* rank = intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_cluster_ctarank, {});
    return b_.CreateAdd(b_.CreateMul(rank, b_.getInt32(threads_), "", true, true), own, "", true, true);
  }

  /// __assertfail(message, file, line, function, bytes of a character), which CUDA gives to every kernel: the driver
  /// prints them with block and thread, and the next synchronisation tells of a failed assert.
  void fail() {
    llvm::Function* kernel = b_.GetInsertBlock()->getParent();
    llvm::Value* function = b_.CreateAddrSpaceCast(
        b_.CreateGlobalString(kernel->getName(), "kaon_text", /*AddressSpace=*/1), b_.getPtrTy());
    llvm::Type* text = b_.getPtrTy();
    llvm::FunctionType* type =
        llvm::FunctionType::get(b_.getVoidTy(), {text, text, b_.getInt32Ty(), text, b_.getInt64Ty()}, false);
    b_.CreateCall(
        module_.getOrInsertFunction("__assertfail", type),
        {b_.CreateIntToPtr(args_[0], text), b_.CreateIntToPtr(args_[1], text), args_[2], function, b_.getInt64(1)});
  }

  /// vprintf(format, values), which CUDA gives to every kernel.
  Value* print() {
    llvm::FunctionType* type =
        llvm::FunctionType::get(b_.getInt32Ty(), {b_.getPtrTy(), b_.getPtrTy()}, /*isVarArg=*/false);
    llvm::FunctionCallee vprintf = module_.getOrInsertFunction("vprintf", type);
    return b_.CreateCall(vprintf,
                         {b_.CreateIntToPtr(args_[0], b_.getPtrTy()), b_.CreateIntToPtr(args_[1], b_.getPtrTy())});
  }

  enum class Effect { kNone, kRead, kPinned, kWrite };

  /// Loads are no `volatile` assembly: LLVM and ptxas may move them, so that all of a tile are in flight together.
  Value* assembly(const std::string& text, const std::string& constraints, llvm::Type* result,
                  llvm::ArrayRef<Value*> operands, Effect effect) {
    llvm::SmallVector<llvm::Type*, 8> types;
    for (Value* operand : operands) types.push_back(operand->getType());
    llvm::FunctionType* type = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
    const bool stays = effect == Effect::kWrite || effect == Effect::kPinned;
    llvm::CallInst* call =
        b_.CreateCall(llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/stays), operands);
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    if (effect == Effect::kNone) call->setDoesNotAccessMemory();
    if (effect == Effect::kRead) call->setOnlyReadsMemory();
    if (effect == Effect::kPinned) call->setOnlyAccessesInaccessibleMemory();
    return call;
  }

  /// The unpacked type that a part travels in: PTX has no 8-bit registers.
  llvm::Type* part_type(AccessWidth width) { return width.bits == 32 ? b_.getInt32Ty() : b_.getInt16Ty(); }
  static const char* part_constraint(AccessWidth width) { return width.bits == 32 ? "r" : "h"; }
  static std::string ptx_type(AccessWidth width) {
    return (width.parts > 1 ? ".v" + std::to_string(width.parts) : "") + ".b" + std::to_string(width.bits);
  }
  static std::string register_list(unsigned first, unsigned count) {
    if (count == 1) return "$" + std::to_string(first);
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i) text += (i ? ", $" : "$") + std::to_string(first + i);
    return text + "}";
  }

  Value* global_load(const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    const bool is_pinned = modifiers.consume_back(kPinned);
    const AccessWidth width = access_width(info.function);
    const bool masked = llvm::StringRef(info.name).contains(".masked.");
    llvm::Type* part = part_type(width);
    llvm::SmallVector<llvm::Type*, 4> parts(width.parts, part);
    llvm::Type* raw = width.parts == 1 ? part : llvm::StructType::get(module_.getContext(), parts);
    std::string constraints;
    for (unsigned i = 0; i < width.parts; ++i) constraints += std::string("=") + part_constraint(width) + ",";
    constraints += "l";
    llvm::SmallVector<Value*, 8> operands = {args_[0]};
    std::string text;
    if (masked) {
      constraints += ",b";
      operands.push_back(args_[1]);
      for (unsigned i = 0; i < width.parts; ++i) {
        constraints += "," + std::to_string(i);
        operands.push_back(b_.CreateZExt(args_[2 + i], part));
      }
      text = "@$" + std::to_string(width.parts + 1) + " ";
    }
    text += "ld.global" + modifiers.str() + ptx_type(width) + " " + register_list(0, width.parts) + ", [$" +
            std::to_string(width.parts) + "];";
    const Effect effect = is_pinned ? Effect::kPinned : modifiers.contains(".nc") ? Effect::kNone : Effect::kRead;
    Value* loaded = assembly(text, constraints, raw, operands, effect);
    return width.bits == 8 ? b_.CreateTrunc(loaded, b_.getInt8Ty()) : loaded;
  }

  Value* global_store(const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    const AccessWidth width = access_width(info.function);
    const bool masked = llvm::StringRef(info.name).contains(".masked.");
    const unsigned first = masked ? 2 : 1;
    std::string constraints = masked ? "l,b" : "l";
    llvm::SmallVector<Value*, 8> operands(args_.begin(), args_.begin() + first);
    for (unsigned i = 0; i < width.parts; ++i) {
      constraints += std::string(",") + part_constraint(width);
      operands.push_back(b_.CreateZExt(args_[first + i], part_type(width)));
    }
    constraints += ",~{memory}";
    const std::string text = (masked ? "@$1 st.global" : "st.global") + modifiers.str() + ptx_type(width) + " [$0], " +
                             register_list(first, width.parts) + ";";
    return assembly(text, constraints, b_.getVoidTy(), operands, Effect::kWrite);
  }

  /// Old values and addresses by the width of the registers: PTX takes .b32 registers for .u32 and .f32.
  Value* atomic(llvm::StringRef name, llvm::StringRef modifiers) {
    const auto [order, operation] = modifiers.drop_front().split('.');
    const std::string sem = "." + order.str() + ".gpu.global.";
    const llvm::StringRef part = name.ends_with("b16") ? "h" : name.ends_with("b32") ? "r" : "l";
    const bool has_result = !result_type_->isVoidTy();
    std::string constraints = has_result ? "=" + part.str() + ",l," : "l,";
    constraints += part.str() + (name.starts_with("cas") ? "," + part.str() : "") + ",~{memory}";
    std::string text = "red" + sem + operation.str() + " [$0], $1;";
    if (name.starts_with("atom")) text = "atom" + sem + operation.str() + " $0, [$1], $2;";
    if (name.starts_with("cas")) text = "atom" + sem + "cas." + name.take_back(3).str() + " $0, [$1], $2, $3;";
    return assembly(text, constraints, result_type_, args_, Effect::kWrite);
  }

  Value* shared_address() {
    llvm::GlobalVariable* base = module_.getGlobalVariable("kaon_shared");
    if (base == nullptr) {
      base = new llvm::GlobalVariable(module_, llvm::ArrayType::get(b_.getInt8Ty(), 0), /*isConstant=*/false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "kaon_shared", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, /*AddressSpace=*/3);
      base->setAlignment(llvm::Align(16));
    }
    Value* own = b_.CreateGEP(b_.getInt8Ty(), base, args_[0]);
    if (!is_cluster_) return own;
    // The same place in the memory of the cluster's first block.
    return intrinsic(llvm::Intrinsic::nvvm_mapa, {b_.CreateAddrSpaceCast(own, b_.getPtrTy()), b_.getInt32(0)});
  }

  llvm::Type* shared_type(AccessWidth width) {
    llvm::Type* part = b_.getIntNTy(width.bits);
    return width.parts == 1 ? part : llvm::FixedVectorType::get(part, width.parts);
  }
  static llvm::Align shared_align(AccessWidth width) { return llvm::Align(width.bits / 8 * width.parts); }

  Value* shared_read(AccessWidth width) {
    Value* loaded = b_.CreateAlignedLoad(shared_type(width), shared_address(), shared_align(width));
    if (width.parts == 1) return loaded;
    Value* result = llvm::PoisonValue::get(result_type_);
    for (unsigned i = 0; i < width.parts; ++i) {
      result = b_.CreateInsertValue(result, b_.CreateExtractElement(loaded, i), i);
    }
    return result;
  }

  Value* shared_write(AccessWidth width) {
    Value* value = args_[1];
    if (width.parts > 1) {
      value = llvm::PoisonValue::get(shared_type(width));
      for (unsigned i = 0; i < width.parts; ++i) value = b_.CreateInsertElement(value, args_[1 + i], i);
    }
    return b_.CreateAlignedStore(value, shared_address(), shared_align(width));
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  const bool is_cluster_;
  const uint32_t threads_;  // of a block
  llvm::SmallVector<Value*, 8> args_;
  llvm::Type* result_type_ = nullptr;
};

}  // namespace

void bind_nvptx(llvm::Module& module, uint32_t cluster, uint32_t threads) {
  NvptxBinder binder(module, cluster, threads);
  bind_device_functions(module, [&](llvm::Function& function, const DeviceFunctionInfo& info,
                                    llvm::StringRef modifiers) { binder.bind(function, info, modifiers); });
}

}  // namespace kaon::compiler::codegen
