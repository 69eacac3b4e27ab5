// The one entry from a logical kernel and a config to a launchable variant. No LLVM types appear here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::compiler {

struct CompileOptions {
  bool checked = false;         // asserts stay, among them those that insert_checks() put in; otherwise all are left out
  bool keep_llvm = false;       // fill CompiledVariant::llvm_ir
  std::string ptxas;            // path; empty: find_ptxas()
  double child_timeout_s = 60;  // limit for one ptxas or ld
};

/// Everything that one config of one kernel became for one target. Plain data.
struct CompiledVariant {
  VariantInfo info;         // symbol, config, guards, plan, requirements
  Resources resources;
  std::string target;       // "sm_90", "host"
  std::string staged_ir;    // text of the staged stage
  std::string llvm_ir;      // if asked for
  std::string ptx;          // CUDA targets
  std::string image;        // bytes: a cubin, or for host an ELF shared object; empty if only PTX was asked for
};

enum class EmitUntil : uint8_t { kStagedIr, kLlvm, kPtx, kImage };

/// Compiles `logical` (stage kLogical, unspecialised) with `config`; absent knobs take their defaults.
/// kIllegalConfig with the reason and numbers; kUnsupported when a tool (ptxas, ld) is missing, naming it and the mend;
/// kInternal for bugs. Thread-safe: every call has its own LLVM context.
Result<CompiledVariant> compile(const Kernel& logical, const Config& config, const Target& target,
                                const CompileOptions& options, EmitUntil until = EmitUntil::kImage);

/// Path of the ptxas that compile() would use: $KAON_PTXAS, PATH, $CUDA_HOME/bin, /usr/local/cuda/bin. kUnsupported with
/// what was looked at and what to install.
Result<std::string> find_ptxas();
/// "13.0.88" as printed by that ptxas; part of every cache key.
Result<std::string> ptxas_version(const std::string& path);
/// "LLVM 19.1.7".
std::string llvm_version();
/// Version of Kaon's own lowering; raised whenever generated code may change. Part of every cache key.
const char* compiler_version();

}  // namespace kaon::compiler
