// What kaonc works on: the kernels of a .tile file, or one kernel as textual IR (.tir).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/frontend/frontend.h"
#include "compiler/ir/ir.h"
#include "compiler/tools/outcome.h"

namespace kaon::compiler {

struct InputOptions {
  std::string path;
  std::string kernel;                  // empty: the only one
  std::vector<std::string> dtypes;     // "T=f16"
  std::vector<std::string> constants;  // "W=4"
};

/// One kernel, instantiated, and how its binding is shown.
struct BoundKernel {
  Kernel kernel;
  std::string binding;  // "T=f16", or empty
};

class Input {
 public:
  /// Reads and checks. Diagnostics are in the outcome's message, warnings also on success.
  static Outcome open(const InputOptions& options, std::unique_ptr<Input>* out);

  bool is_ir() const { return program_ == nullptr; }
  /// Of a .tile file only.
  const Program* program() const { return program_.get(); }
  /// The kernel under the binding asked for; generics that were not bound take their first type.
  Outcome kernel(std::vector<BoundKernel>* out, bool all_bindings) const;

 private:
  Outcome bind(const KernelInfo& info, bool all_bindings, std::vector<DTypeBinding>* out) const;

  InputOptions options_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<Kernel> ir_;
};

/// The text of a file; kIo with the reason.
Result<std::string> read_text(const std::string& path);

}  // namespace kaon::compiler
