// From a staged kernel to the texts and bytes of one target. No LLVM types appear here.
#pragma once

#include <string>

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "runtime/base/status.h"

namespace kaon::compiler::codegen {

struct CodegenOptions {
  bool keep_llvm = false;     // fill GeneratedCode::llvm_ir
  bool stop_at_llvm = false;  // nothing but llvm_ir
};

struct GeneratedCode {
  std::string llvm_ir;  // as lowered and bound, after optimisation
  std::string ptx;      // GPU targets
  std::string object;   // host: a relocatable ELF object without undefined symbols
};

/// Lowers `staged` to the function `symbol` and compiles it with LLVM. Thread-safe. kInternal for bugs, with LLVM's
/// text.
Result<GeneratedCode> generate_code(const Kernel& staged, const Target& target, const std::string& symbol,
                                    const CodegenOptions& options);

}  // namespace kaon::compiler::codegen
