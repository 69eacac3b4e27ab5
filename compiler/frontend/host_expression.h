// Evaluates expressions of a kernel's head, where only dimensions, integer parameters and constants have a value.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/frontend/ast.h"
#include "compiler/ir/host_int.h"
#include "compiler/support/diagnostics.h"

namespace kaon::compiler {

class HostExpressions {
 public:
  HostExpressions(const std::map<std::string, HostInt>& names, Diagnostics* diagnostics)
      : names_(names), diagnostics_(*diagnostics) {}

  /// An integer; empty after an error, which was reported.
  std::optional<HostInt> integer(const ast::Expression& node);
  /// A condition as an expression that is 1 when it holds and 0 when not. Each comparison that must hold for the whole
  /// to hold adds to `natural` what it proves not to be negative.
  std::optional<Expr> condition(const ast::Expression& node, std::vector<HostInt>* natural);

 private:
  std::optional<HostInt> call(const ast::Expression& node);
  std::optional<HostInt> arithmetic(const ast::Expression& node);
  std::optional<Expr> comparison(const ast::Expression& node, std::vector<HostInt>* natural);
  void fail(SourceRange range, const std::string& message) { diagnostics_.error(range, message); }

  const std::map<std::string, HostInt>& names_;
  Diagnostics& diagnostics_;
};

}  // namespace kaon::compiler
