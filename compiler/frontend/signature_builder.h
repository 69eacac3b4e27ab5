// From a kernel's head to its Signature: parameters, dimensions and their slots, dtype bindings, `require`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/ast.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/host_int.h"
#include "compiler/support/diagnostics.h"
#include "runtime/base/signature.h"

namespace kaon::compiler {

struct SpecialisedValue {
  int dim = 0;  // index into Signature::dims
  int64_t value = 0;
};

/// A signature and what the body needs to know of how it was written.
struct SignatureFacts {
  Signature signature;
  std::vector<std::vector<HostInt>> extents;   // of each tensor
  std::map<std::string, HostInt> dims;         // each symbolic dimension; a specialised one is its value
  std::map<std::string, HostInt> int_scalars;  // i64 parameters, known to the host
  std::map<std::string, int64_t> constants;    // constexpr parameters with the values bound
  std::vector<SpecialisedValue> specialised;   // what `specialize` fixes in this body
  std::vector<HostInt> known_natural;          // what `require` clauses say is not negative
  std::map<std::string, SourceRange> places;   // of every name of the head
};

/// More combinations than this are an error: each is compiled, tuned and shipped.
constexpr size_t kMaxBindings = 64;

/// Every combination of element types that `where` allows, the last generic fastest. Names that are no type are
/// skipped; build_signature() reports them.
std::vector<DTypeBinding> all_bindings(const ast::Kernel& kernel);

/// Checks the head of `kernel` under one binding. Empty after an error, which was reported.
std::optional<SignatureFacts> build_signature(const ast::Kernel& kernel, const DTypeBinding& dtypes,
                                              const ConstexprBinding& constants, Diagnostics* diagnostics);

}  // namespace kaon::compiler
