// A .tile file and one kernel of it, ready to be tuned for each dtype binding.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aot_runner/search/space.h"
#include "compiler/config/config_space.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// One kernel under one dtype binding and, where it is specialised on dimensions, one value of each.
struct BoundKernel {
  std::string dtypes;                    // Signature::dtype_key()
  std::string title;                     // "f16 N=128"
  compiler::ConstexprBinding constants;  // of constexpr parameters that were given, and specialised dimensions
  compiler::Kernel logical;
  std::string logical_ir;  // its text, with all bodies

  /// Whether a shape has the values of the specialised dimensions.
  bool takes(const Shape& shape) const;
};

class KernelSource {
 public:
  /// Reads and checks the file. kIo with path and errno, kCompile with the rendered diagnostics.
  /// Kernels of a `checked` one stop at asserts and at indices out of range, naming the place.
  static Result<std::unique_ptr<KernelSource>> open(const std::string& path, bool checked);

  /// The kernel named, or the only one there is. kNotFound with the names there are.
  Result<const compiler::KernelInfo*> find(const std::string& kernel) const;
  /// Every binding, or those in `dtypes` ("f16", "f16,f32"), each with every value of its specialised dimensions.
  /// kInvalidArgument with the bindings there are.
  Result<std::vector<BoundKernel>> bind(const compiler::KernelInfo& kernel, const std::vector<std::string>& dtypes,
                                        const std::map<std::string, int64_t>& constants) const;
  /// Of the text; that of a checked source says so, for its variants are others.
  std::string source_hash() const;
  const std::string& path() const { return path_; }
  const std::string& warnings() const { return warnings_; }

 private:
  std::string path_;
  std::unique_ptr<compiler::SourceFile> file_;
  std::unique_ptr<compiler::Program> program_;
  std::string warnings_;
  bool checked_ = false;
};

/// Whether a source_hash() is that of a checked source.
bool is_checked_hash(const std::string& source_hash);

/// The compiler's config space as the search sees it; `logical` and `space` must outlive the result.
SearchSpace search_space(const compiler::Kernel& logical, const compiler::ConfigSpace& space);

}  // namespace kaon::runner
