// Which steps LLVM takes: lower, bind, optimise, emit.
#include "compiler/codegen/codegen.h"

#include <algorithm>
#include <mutex>

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "compiler/codegen/device_functions.h"
#include "compiler/codegen/lower.h"
#include "compiler/codegen/order.h"
#include "compiler/compile.h"
#include "compiler/ir/walk.h"
#include "runtime/host/simt_abi.h"

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace kaon::compiler::codegen {
namespace {

void initialize_targets() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

Result<std::unique_ptr<llvm::TargetMachine>> make_machine(const Target& target) {
  const std::string triple = target.is_host ? "x86_64-pc-linux-gnu" : "nvptx64-nvidia-cuda";
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (found == nullptr) return Status(Code::kUnsupported, "this LLVM has no target for " + triple + ": " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuses what carries the contract flag
  const std::string cpu = target.is_host ? "x86-64-v2" : target.llvm_cpu;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, cpu, target.ptx_feature, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Rows that stay packed are meant to let more blocks be resident, which ptxas only does when it is told: as many as
/// the packed words and some registers to work with leave room for.
uint32_t wanted_residency(const Kernel& kernel, const Target& target) {
  constexpr uint32_t kOtherRegisters = 28;
  uint32_t packed = 0;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kReuse || op.int_attr("round") > 0) return;
    const auto bytes = static_cast<uint32_t>(dtype_bytes(kernel.type(op.result()).dtype));
    packed += kernel.layout(op.result()).num_registers() * bytes / 4;
  });
  const uint32_t threads = kernel.plan.threads;
  const uint32_t fitting = target.registers_per_sm / (threads * (packed + kOtherRegisters));
  if (packed == 0) return 1;
  return std::clamp<uint32_t>(std::min(fitting, target.max_threads_per_sm / threads), 1, 16);
}

/// Block size and register limit, as ptxas reads them.
void annotate_kernel(llvm::Module& module, llvm::Function& function, const Kernel& kernel, const Target& target) {
  llvm::LLVMContext& context = module.getContext();
  llvm::NamedMDNode* annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  auto annotate = [&](const char* name, uint32_t value) {
    llvm::Metadata* parts[] = {
        llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, name),
        llvm::ValueAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value))};
    annotations->addOperand(llvm::MDNode::get(context, parts));
  };
  annotate("kernel", 1);
  annotate("reqntidx", kernel.plan.threads);
  const int64_t limit = kernel.config.get_int("maxnreg", 0);
  if (limit > 0) {
    annotate("maxnreg", static_cast<uint32_t>(limit));
  } else {
    // Without a word on residency ptxas rounds registers up to what the block size leaves: 128 where 96 would do.
    annotate("minctasm", wanted_residency(kernel, target));
  }
}

/// O3 without what guesses at loops: the config has decided how much a thread unrolls.
void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopInterleaving = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  // No function of the C library may be recognised: an image has nothing to call it in.
  llvm::TargetLibraryInfoImpl library(llvm::Triple(module.getTargetTriple()));
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

Status verify(const llvm::Module& module, const char* when) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(module, &stream)) return Status::ok();
  return Status(Code::kInternal, std::string("LLVM IR is broken ") + when + ": " + stream.str());
}

/// Keeps LLVM's complaints off standard error; the first error becomes a status.
class DiagnosticKeeper final : public llvm::DiagnosticHandler {
 public:
  explicit DiagnosticKeeper(std::string* error) : error_(error) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error || !error_->empty()) return true;
    llvm::raw_string_ostream stream(*error_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string* error_;
};

Result<std::string> emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return Status(Code::kInternal, "LLVM cannot emit this kind of file for " + module.getTargetTriple());
  }
  passes.run(module);
  return std::string(bytes);
}

}  // namespace

Result<GeneratedCode> generate_code(const Kernel& staged, const Target& target, const std::string& symbol,
                                    const CodegenOptions& options) {
  initialize_targets();
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine, make_machine(target));
  std::string error;
  llvm::LLVMContext context;
  context.setDiagnosticHandler(std::make_unique<DiagnosticKeeper>(&error));
  llvm::Module module(symbol, context);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  KAON_RETURN_IF_ERROR(Lowering(staged, target, module).run(symbol));
  if (!target.is_host) annotate_kernel(module, *module.getFunction(symbol), staged, target);
  KAON_RETURN_IF_ERROR(verify(module, "after lowering"));
  if (target.is_host) {
    auto* version = llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), KAON_SIMT_ABI_VERSION);
    new llvm::GlobalVariable(module, version->getType(), /*isConstant=*/true, llvm::GlobalValue::ExternalLinkage,
                             version, KAON_SIMT_ABI_SYMBOL);
    bind_host(module);
  } else {
    bind_nvptx(module, staged.plan.cluster, staged.plan.threads);
  }
  KAON_RETURN_IF_ERROR(verify(module, "after binding"));
  optimize(module, *machine);
  if (!target.is_host) compute_late(*module.getFunction(symbol));
  GeneratedCode code;
  if (options.keep_llvm || options.stop_at_llvm) {
    llvm::raw_string_ostream stream(code.llvm_ir);
    module.print(stream, nullptr);
  }
  if (options.stop_at_llvm) return code;
  if (target.is_host) {
    KAON_ASSIGN_OR_RETURN(code.object, emit(module, *machine, llvm::CodeGenFileType::ObjectFile));
  } else {
    KAON_ASSIGN_OR_RETURN(code.ptx, emit(module, *machine, llvm::CodeGenFileType::AssemblyFile));
  }
  if (!error.empty()) return Status(Code::kInternal, "LLVM cannot take the lowered kernel: " + error);
  return code;
}

}  // namespace kaon::compiler::codegen

namespace kaon::compiler {

std::string llvm_version() { return "LLVM " LLVM_VERSION_STRING; }

}  // namespace kaon::compiler
