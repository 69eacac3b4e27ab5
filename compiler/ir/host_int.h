// Integers that the host knows before a launch: polynomials over dimensions and integer parameters, in a normal form,
// so that `2 * H - H` and `H` are the same extent and a bound can be proven.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/expr.h"
#include "runtime/base/signature.h"

namespace kaon::compiler {

class HostInt {
 public:
  HostInt(int64_t constant = 0);
  /// A value of a call. `is_natural` when it is never negative, as an extent.
  static HostInt slot(const std::string& name, int slot, bool is_natural);
  /// The normal form of an expression over the slots of a call. Empty as for binary().
  static std::optional<HostInt> from_expr(const Expr& expr, const Signature& signature);

  /// Empty when the normal form would grow beyond what a launch should evaluate, or a constant overflows.
  static std::optional<HostInt> binary(ExprOp op, const HostInt& a, const HostInt& b);

  std::optional<int64_t> constant() const;
  /// This divided by `divisor` > 0 where that comes out even whatever the dimensions are: 2*H by 2, but not H + 1.
  std::optional<HostInt> exact_quotient(int64_t divisor) const;
  /// True when the value is known not to be negative whatever the dimensions are.
  bool is_natural() const;
  /// "2*H", "B + 1".
  std::string to_string() const;
  Expr to_expr() const;

  friend bool operator==(const HostInt& a, const HostInt& b) { return a.terms_ == b.terms_; }

 private:
  struct Atom {
    Expr expr;
    bool is_natural = false;
  };
  using Monomial = std::vector<std::string>;  // names of atoms, sorted, with repetition

  static std::optional<HostInt> checked(HostInt result);
  static HostInt opaque(ExprOp op, const HostInt& a, const HostInt& b);
  void add_term(const Monomial& monomial, int64_t factor);

  std::map<Monomial, int64_t> terms_;  // no zero factors; the empty monomial is the constant
  std::map<std::string, Atom> atoms_;
  bool overflowed_ = false;
};

}  // namespace kaon::compiler
