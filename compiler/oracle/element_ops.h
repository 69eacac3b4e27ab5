// Element-wise ops on tiles of equal shape: values exact to double, bounds propagated. Results may not be operands.
#pragma once

#include <cmath>

#include "compiler/ir/functions.h"
#include "compiler/ir/ir.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// The function that the op's attribute names; the verifier has seen to it that there is one.
template <typename Fn>
Fn function_of(const Op& op) {
  Fn fn{};
  parse_fn(op.str_attr("fn"), &fn);
  return fn;
}

void eval_unary(UnaryFn fn, const Tile& a, Tile* result);
void eval_binary(BinaryFn fn, const Tile& a, const Tile& b, Tile* result);
void eval_compare(CompareFn fn, const Tile& a, const Tile& b, Tile* result);
/// Where the condition may be either, the result covers both alternatives.
void eval_select(const Tile& condition, const Tile& a, const Tile& b, Tile* result);
void eval_cast(const Tile& a, DType dtype, Tile* result);

/// The greater of two numbers; a negative zero is less than a positive one.
inline double greater_of(double a, double b) { return a > b || (a == b && std::signbit(b)) ? a : b; }

/// Saturating truncation of a float; NaN gives 0.
int64_t float_to_int(DType dtype, double value);

/// Widens (*value, *bound) so that it covers (other, other_bound) as well: the two sides of an undecided branch.
void cover_float(double* value, double* bound, double other, double other_bound);
void cover_int(DType dtype, int64_t* value, double* bound, int64_t other, double other_bound);

}  // namespace kaon::compiler
