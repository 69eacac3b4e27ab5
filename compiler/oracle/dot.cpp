// Each element of a product as a sum of terms, every one with its own bound.
#include "compiler/oracle/dot.h"

#include <cmath>

#include "compiler/oracle/reductions.h"
#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

/// Index of the first element of the matrix that belongs to matrix `number` of the result.
size_t matrix_start(const Tile& tile, const std::vector<int64_t>& sizes, size_t number) {
  const size_t rank = sizes.size();
  size_t index = 0;
  size_t step = 1;
  for (size_t dim = rank - 2; dim-- > 0;) {
    const auto size = static_cast<size_t>(sizes[dim]);
    if (tile.sizes[dim] != 1) index += number % size * step;
    step *= static_cast<size_t>(tile.sizes[dim]);
    number /= size;
  }
  return index * static_cast<size_t>(tile.sizes[rank - 2] * tile.sizes[rank - 1]);
}

/// How far a * b may be off when a and b are, before it is rounded.
double product_bound(double a, double a_bound, double b, double b_bound) {
  if (a_bound == 0 && b_bound == 0) return 0;
  if (a_bound == kUnknown || b_bound == kUnknown) return kUnknown;
  if (std::isnan(a) || std::isnan(b)) return 0;
  // An infinity times what may be of either sign, or 0.
  if (std::isinf(a)) return std::fabs(b) > b_bound ? 0 : kUnknown;
  if (std::isinf(b)) return std::fabs(a) > a_bound ? 0 : kUnknown;
  return std::fabs(a) * b_bound + std::fabs(b) * a_bound + a_bound * b_bound;
}

struct Dot {
  const DotOperand& left;
  const DotOperand& right;
  const Tile* acc;
  size_t m, k, n;

  void floats(size_t row, size_t column, size_t out, DType sum, Terms* terms) const {
    const Tile &a = left.tile, &b = right.tile;
    const Rounding rounding(sum);
    const Bounds a_bounds(a), b_bounds(b);
    terms->floats.clear();
    terms->bounds.clear();
    if (acc != nullptr) {
      terms->floats.push_back(acc->floats[out]);
      terms->bounds.push_back(acc->bound(out));
    }
    for (size_t i = 0; i < k; ++i) {
      if (!left.has(row + i) || !right.has(column + i * n)) continue;
      const double x = a.floats[row + i], y = b.floats[column + i * n];
      const double x_bound = a_bounds[row + i], y_bound = b_bounds[column + i * n];
      double product = x * y;
      double bound = product_bound(x, x_bound, y, y_bound);
      // Rounded for itself or within one operation: both are right.
      if (std::isfinite(product)) bound += rounding.unit() * (std::fabs(product) + bound) + rounding.half_subnormal();
      // By itself it would be infinite, within one operation not: infinities elsewhere tell.
      if (std::isfinite(product) && !(std::fabs(product) + bound <= rounding.max_finite())) bound = kUnknown;
      if (product == 0 && x_bound == 0 && y_bound == 0 && (x == 0 || y == 0)) bound = 0;
      terms->floats.push_back(product);
      terms->bounds.push_back(bound);
    }
  }

  int64_t integers(size_t row, size_t column, size_t out, double* bound) const {
    const Tile &a = left.tile, &b = right.tile;
    const Bounds a_bounds(a), b_bounds(b);
    int64_t total = acc != nullptr ? acc->ints[out] : 0;
    *bound = acc != nullptr ? acc->bound(out) : 0;
    for (size_t i = 0; i < k; ++i) {
      if (!left.has(row + i) || !right.has(column + i * n)) continue;
      const int64_t x = a.ints[row + i], y = b.ints[column + i * n];
      total += x * y;
      *bound +=
          product_bound(static_cast<double>(x), a_bounds[row + i], static_cast<double>(y), b_bounds[column + i * n]);
    }
    if (*bound != 0 && std::fabs(static_cast<double>(total)) + *bound >= 0x1p31) *bound = kUnknown;
    return wrap_int(DType::kI32, total);
  }
};

}  // namespace

void eval_dot(const DotOperand& a, const DotOperand& b, const Tile* acc, DType sum, const std::vector<int64_t>& sizes,
              Tile* result) {
  const size_t rank = sizes.size();
  const Dot dot{a,
                b,
                acc,
                static_cast<size_t>(sizes[rank - 2]),
                static_cast<size_t>(a.tile.sizes[rank - 1]),
                static_cast<size_t>(sizes[rank - 1])};
  result->shape(sum, sizes, /*is_exact=*/false);
  Terms terms;
  for (size_t out = 0; out < result->count; ++out) {
    const size_t matrix = out / (dot.m * dot.n), in_matrix = out % (dot.m * dot.n);
    const size_t row = matrix_start(a.tile, sizes, matrix) + in_matrix / dot.n * dot.k;
    const size_t column = matrix_start(b.tile, sizes, matrix) + in_matrix % dot.n;
    if (result->is_float()) {
      dot.floats(row, column, out, sum, &terms);
      sum_terms(sum, terms, &result->floats[out], &result->bounds[out]);
    } else {
      result->ints[out] = dot.integers(row, column, out, &result->bounds[out]);
    }
  }
  result->settle();
}

}  // namespace kaon::compiler
