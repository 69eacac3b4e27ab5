#include "compiler/compile.h"

#include <cctype>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/codegen.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/insert_checks.h"
#include "compiler/passes/pipeline.h"

namespace kaon::compiler {
namespace {

/// Entry point of a variant: the kernel, its element types, and the config's fingerprint.
std::string make_symbol(const Kernel& kernel) {
  static const char* const kHex = "0123456789abcdef";
  std::string symbol = "kaon_" + kernel.signature.kernel;
  std::string key = kernel.signature.dtype_key();
  if (!key.empty()) symbol += "_" + key;
  for (char& c : symbol) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  symbol += "_";
  const uint64_t fingerprint = kernel.config.fingerprint();
  for (int shift = 60; shift >= 0; shift -= 4) symbol += kHex[(fingerprint >> shift) & 15];
  return symbol;
}

/// Numbers that only the finished code has. kIllegalConfig when the target cannot run it.
Status check_resources(const CompiledVariant& variant, const Target& target) {
  const uint32_t threads = variant.info.plan.threads;
  const uint32_t shared = variant.resources.dynamic_shared_bytes + variant.resources.static_shared_bytes;
  if (shared > target.max_shared_bytes) {
    return Status(Code::kIllegalConfig, "needs " + std::to_string(shared) + " bytes of shared memory, " + target.name +
                                            " has " + std::to_string(target.max_shared_bytes));
  }
  if (threads > target.max_threads) {
    return Status(Code::kIllegalConfig, "needs " + std::to_string(threads) + " threads in a block, " + target.name +
                                            " has " + std::to_string(target.max_threads));
  }
  if (!target.is_host && variant.resources.registers * threads > target.registers_per_sm) {
    return Status(Code::kIllegalConfig, "needs " + std::to_string(variant.resources.registers) +
                                            " registers in each of " + std::to_string(threads) + " threads, " +
                                            target.name + " has " + std::to_string(target.registers_per_sm));
  }
  return Status::ok();
}

}  // namespace

Result<CompiledVariant> compile(const Kernel& logical, const Config& config, const Target& target,
                                const CompileOptions& options, EmitUntil until) {
  KAON_ASSIGN_OR_RETURN(Kernel staged, run_pipeline(logical, config, target));
  // Only now: what asserts ask for had a part in which knobs there are.
  if (!options.checked) erase_asserts(staged);
  CompiledVariant variant;
  variant.target = target.name;
  variant.staged_ir = print(staged);
  variant.info.symbol = make_symbol(staged);
  variant.info.config = staged.config;
  variant.info.guards = staged.guards;
  variant.info.plan = staged.plan;
  variant.info.requirements.threads = staged.plan.threads;
  variant.info.requirements.shared_bytes = staged.plan.shared_bytes;
  variant.resources.dynamic_shared_bytes = staged.plan.shared_bytes;
  if (until == EmitUntil::kStagedIr) return variant;

  codegen::CodegenOptions codegen_options;
  codegen_options.keep_llvm = options.keep_llvm;
  codegen_options.stop_at_llvm = until == EmitUntil::kLlvm;
  KAON_ASSIGN_OR_RETURN(codegen::GeneratedCode code,
                        codegen::generate_code(staged, target, variant.info.symbol, codegen_options));
  variant.llvm_ir = std::move(code.llvm_ir);
  variant.ptx = std::move(code.ptx);
  if (until != EmitUntil::kImage) return variant;
  if (target.is_host) {
    KAON_ASSIGN_OR_RETURN(variant.image, codegen::link_host_object(code.object, options));
  } else {
    KAON_ASSIGN_OR_RETURN(codegen::Assembled assembled,
                          codegen::assemble_ptx(variant.ptx, variant.info.plan.threads, target, options));
    variant.image = std::move(assembled.image);
    variant.ptx = std::move(assembled.ptx);
    assembled.resources.dynamic_shared_bytes = variant.resources.dynamic_shared_bytes;
    variant.resources = assembled.resources;
    variant.info.requirements.registers_per_thread = variant.resources.registers;
  }
  KAON_RETURN_IF_ERROR(check_resources(variant, target));
  return variant;
}

const char* compiler_version() { return "kaon-1"; }

}  // namespace kaon::compiler
