// From a .tile text to logical IR: the one entry of the front end.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/support/diagnostics.h"
#include "compiler/support/source.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// What `where T in (...)` leaves open, bound: generic name -> element type.
using DTypeBinding = std::map<std::string, DType>;
/// Values of constexpr parameters and of specialised dimensions by name.
using ConstexprBinding = std::map<std::string, int64_t>;

/// A dimension of `specialize`, and what it is compiled for.
struct SpecialisedDim {
  std::string name;
  std::vector<int64_t> values;
};

struct KernelInfo {
  std::string name;
  std::vector<DTypeBinding> bindings;  // every combination the signature allows, in source order
  std::vector<std::string> constexpr_params;
  std::vector<SpecialisedDim> specialised;
  SourceRange range;

  /// Every combination of values of the specialised dimensions, the last fastest; one empty binding without any.
  std::vector<ConstexprBinding> specialisations() const;
};

/// A parsed file whose every kernel has been checked under each of its dtype bindings.
class Program {
 public:
  /// Parses and checks. Errors and warnings go to `diagnostics`; null if there was an error.
  static std::unique_ptr<Program> create(const SourceFile& file, Diagnostics* diagnostics);
  ~Program();

  const std::vector<KernelInfo>& kernels() const;
  /// Logical IR of one kernel. A specialised dimension that `constants` leaves out is a choice of the config; interpret
  /// only kernels that leave out none. kNotFound with the names there are; kInvalidArgument for a binding the signature
  /// does not allow; kValueNotCompiled for a dimension's value that `specialize` does not list.
  Result<Kernel> instantiate(const std::string& kernel, const DTypeBinding& dtypes,
                             const ConstexprBinding& constants = {}) const;
  /// SHA-256 of the text with comments and blank space removed: changes iff the meaning may have. 64 hex digits.
  std::string source_hash() const;
  /// --emit=ast.
  std::string dump_ast() const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kaon::compiler
