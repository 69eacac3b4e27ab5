// Sums, products and extrema over rows, with bounds that do not depend on the order of combination.
#include "compiler/oracle/reductions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/rounding.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

struct Row {
  const double* floats;
  const int64_t* ints;
  const double* bounds;  // null when exact
  size_t length;
};

struct FloatResult {
  double value;
  double bound;
};

/// For any order of additions, each at most unit away from exact: the error is at most (n - 1) * unit * sum |x|, to
/// first order; the quotient covers the higher ones.
FloatResult sum_row(const Row& row, const Rounding& rounding) {
  double sum = 0, magnitude = 0, propagated = 0;
  bool has_nan = false;
  for (size_t i = 0; i < row.length; ++i) {
    sum += row.floats[i];
    magnitude += std::fabs(row.floats[i]);
    has_nan = has_nan || (std::isnan(row.floats[i]) && (row.bounds == nullptr || row.bounds[i] == 0));
  }
  if (row.bounds) {
    for (size_t i = 0; i < row.length; ++i) propagated += row.bounds[i];
  }
  if (has_nan) return {sum, 0};  // whatever the other terms are
  if (propagated == kUnknown) return {sum, kUnknown};
  if (!std::isfinite(magnitude)) {
    double finite = 0;
    bool has_special = false;  // an infinity or a NaN decides, whatever the order
    for (size_t i = 0; i < row.length; ++i) {
      has_special = has_special || !std::isfinite(row.floats[i]);
      finite += std::isfinite(row.floats[i]) ? std::fabs(row.floats[i]) : 0;
    }
    // Unless the others overflow to the other infinity first, or overflow is all that there was: only f64 comes here
    // so.
    const bool is_open = !has_special || (std::isinf(sum) && finite > rounding.max_finite());
    return {sum, is_open ? kUnknown : 0};
  }
  // Of negative zeros alone: whether a positive one, which missing lanes count as, is added to them is open.
  const auto is_negative_zero = [](double x) { return x == 0 && std::signbit(x); };
  if (magnitude == 0 && propagated == 0 && row.length > 0 &&
      std::all_of(row.floats, row.floats + row.length, is_negative_zero))
    return {sum, std::numeric_limits<double>::denorm_min()};
  if (row.length < 2) return {sum, propagated};
  magnitude += propagated;
  const double steps = static_cast<double>(row.length - 1) * rounding.unit();
  const double accumulated = steps < 0.5 ? steps / (1 - steps) * magnitude : steps * std::exp(steps) * magnitude;
  const double own = static_cast<double>(row.length) * 0x1p-53 * magnitude;
  const double subnormal = static_cast<double>(row.length) * rounding.half_subnormal();
  double bound = propagated + accumulated + own + subnormal;
  if (magnitude + accumulated <= rounding.max_finite()) return {sum, bound};
  // Partial sums may overflow. If all have one sign the total decides; else the order does.
  const bool one_sign = std::fabs(sum) + propagated >= magnitude * (1 - 0x1p-40);
  bound = one_sign ? rounding.finish(&sum, bound) : kUnknown;
  return {sum, bound};
}

FloatResult product_row(const Row& row, const Rounding& rounding) {
  double product = 1, magnitude = 1, above = 1, below = 1;
  bool is_exact = true;
  for (size_t i = 0; i < row.length; ++i) {
    const double bound = row.bounds ? row.bounds[i] : 0;
    if (bound == kUnknown) return {product, kUnknown};
    const double reach = std::fabs(row.floats[i]) + bound;
    product *= row.floats[i];
    magnitude *= reach;
    above *= std::max(1.0, reach);
    below *= std::min(1.0, std::fabs(row.floats[i]));
    is_exact = is_exact && bound == 0;
  }
  if (!std::isfinite(product)) {
    // inf * 0 depends on no order, but a partial product that overflows on the way to a smaller total does.
    const bool has_special =
        std::any_of(row.floats, row.floats + row.length, [](double x) { return !std::isfinite(x); });
    return {product, has_special && is_exact ? 0 : kUnknown};
  }
  if (row.length < 2) return {product, magnitude - std::fabs(product)};
  if (above > rounding.max_finite()) {
    const bool must_overflow = std::fabs(product) > rounding.max_finite() && below >= 0.5 && is_exact;
    if (must_overflow) return {std::copysign(HUGE_VAL, product), 0};
    return {product, kUnknown};
  }
  const double steps = static_cast<double>(row.length - 1) * (rounding.unit() + 0x1p-53);
  double bound = magnitude - std::fabs(product) + std::expm1(steps) * magnitude + magnitude * 0x1p-50;
  if (below < rounding.min_normal()) bound += above * rounding.min_normal() * static_cast<double>(row.length);
  return {product, bound};
}

FloatResult max_row(const Row& row, double sign) {
  double value = -HUGE_VAL, high = -HUGE_VAL, low = -HUGE_VAL;
  bool has_nan = false, is_unknown = false;
  for (size_t i = 0; i < row.length; ++i) {
    const double x = sign * row.floats[i];
    const double bound = row.bounds ? row.bounds[i] : 0;
    has_nan = has_nan || x != x;
    is_unknown = is_unknown || bound == kUnknown;
    value = greater_of(x, value);
    high = x + bound > high ? x + bound : high;
    low = x - bound > low ? x - bound : low;
  }
  if (is_unknown) return {sign * value, kUnknown};
  if (has_nan) return {std::numeric_limits<double>::quiet_NaN(), 0};
  if (std::isinf(value)) return {sign * value, 0};
  return {sign * value, std::max(high - value, value - low)};
}

FloatResult reduce_float(ReduceFn fn, const Row& row, const Rounding& rounding) {
  switch (fn) {
    case ReduceFn::kSum: return sum_row(row, rounding);
    case ReduceFn::kProd: return product_row(row, rounding);
    case ReduceFn::kMax: return max_row(row, 1);
    default: return max_row(row, -1);
  }
}

int64_t int_identity(ReduceFn fn, DType dtype) {
  if (fn == ReduceFn::kSum) return 0;
  if (fn == ReduceFn::kProd) return 1;
  const int bits = dtype_bytes(dtype) * 8;
  if (!dtype_is_signed(dtype)) return fn == ReduceFn::kMax ? 0 : static_cast<int64_t>((uint64_t{1} << bits) - 1);
  const auto highest = static_cast<int64_t>((uint64_t{1} << (bits - 1)) - 1);
  return fn == ReduceFn::kMax ? -highest - 1 : highest;
}

int64_t reduce_int(ReduceFn fn, DType dtype, const Row& row, double* bound) {
  int64_t value = int_identity(fn, dtype);
  double sum_bounds = 0, widest = 0;
  for (size_t i = 0; i < row.length; ++i) {
    const auto a = static_cast<uint64_t>(value), x = static_cast<uint64_t>(row.ints[i]);
    switch (fn) {
      case ReduceFn::kSum: value = static_cast<int64_t>(a + x); break;
      case ReduceFn::kProd: value = static_cast<int64_t>(a * x); break;
      case ReduceFn::kMax: value = std::max(value, row.ints[i]); break;
      case ReduceFn::kMin: value = std::min(value, row.ints[i]); break;
    }
    if (row.bounds) {
      sum_bounds += row.bounds[i];
      widest = std::max(widest, row.bounds[i]);
    }
  }
  *bound = widest;
  if (fn == ReduceFn::kSum && widest != 0) {
    const bool may_wrap =
        std::fabs(static_cast<double>(value)) + sum_bounds > std::ldexp(1.0, dtype_bytes(dtype) * 8 - 2);
    *bound = may_wrap ? kUnknown : sum_bounds;
  }
  if (fn == ReduceFn::kProd && widest != 0) *bound = kUnknown;
  return wrap_int(dtype, value);
}

/// The order of dims that puts the folded ones last and keeps that of each group.
std::vector<int64_t> folded_last(size_t rank, const std::vector<int64_t>& dims) {
  std::vector<int64_t> kept, folded;
  for (int64_t dim = 0; dim < static_cast<int64_t>(rank); ++dim) {
    const bool is_folded = std::find(dims.begin(), dims.end(), dim) != dims.end();
    (is_folded ? folded : kept).push_back(dim);
  }
  kept.insert(kept.end(), folded.begin(), folded.end());
  return kept;
}

/// The rows to fold, one after the other; where lanes are missing, a row is packed into memory of its own.
class Rows {
 public:
  Rows(const Tile& a, const std::vector<int64_t>& dims, const std::vector<uint8_t>& exists) : rows_(&a) {
    for (int64_t dim : dims) length_ *= static_cast<size_t>(a.sizes[static_cast<size_t>(dim)]);
    const std::vector<int64_t> order = folded_last(a.sizes.size(), dims);
    const bool is_ordered = std::is_sorted(order.begin(), order.end());
    if (!is_ordered) {
      copy_permuted(a, order, &permuted_);
      rows_ = &permuted_;
    }
    if (exists.empty()) return;
    Tile lanes;
    lanes.shape(DType::kBool, a.sizes, /*is_exact=*/true);
    std::copy(exists.begin(), exists.end(), lanes.ints.begin());
    Tile ordered;
    if (!is_ordered) copy_permuted(lanes, order, &ordered);
    exists_ = std::move(is_ordered ? lanes.ints : ordered.ints);
  }

  Row operator[](size_t i) {
    const size_t first = i * length_;
    const bool is_float = rows_->is_float();
    if (exists_.empty()) {
      return {is_float ? rows_->floats.data() + first : nullptr, is_float ? nullptr : rows_->ints.data() + first,
              rows_->exact ? nullptr : rows_->bounds.data() + first, length_};
    }
    floats_.clear(), ints_.clear(), bounds_.clear();
    for (size_t lane = first; lane < first + length_; ++lane) {
      if (!exists_[lane]) continue;
      if (is_float) floats_.push_back(rows_->floats[lane]);
      if (!is_float) ints_.push_back(rows_->ints[lane]);
      bounds_.push_back(rows_->bound(lane));
    }
    return {floats_.data(), ints_.data(), rows_->exact ? nullptr : bounds_.data(), bounds_.size()};
  }

 private:
  const Tile* rows_;
  size_t length_ = 1;
  Tile permuted_;
  std::vector<int64_t> exists_;
  std::vector<double> floats_, bounds_;
  std::vector<int64_t> ints_;
};

}  // namespace

void eval_reduce(ReduceFn fn, const Tile& a, const std::vector<int64_t>& dims, const std::vector<int64_t>& result_sizes,
                 const std::vector<uint8_t>& exists, Tile* result) {
  Rows rows(a, dims, exists);
  result->shape(a.dtype, result_sizes, /*is_exact=*/false);
  const Rounding rounding(a.is_float() ? a.dtype : DType::kF32);
  for (size_t i = 0; i < result->count; ++i) {
    if (!a.is_float()) {
      result->ints[i] = reduce_int(fn, a.dtype, rows[i], &result->bounds[i]);
      continue;
    }
    const FloatResult folded = reduce_float(fn, rows[i], rounding);
    result->floats[i] = folded.value;
    result->bounds[i] = folded.bound;
  }
  result->settle();
}

void sum_terms(DType dtype, const Terms& terms, double* sum, double* bound) {
  const FloatResult folded =
      sum_row({terms.floats.data(), nullptr, terms.bounds.data(), terms.floats.size()}, Rounding(dtype));
  *sum = folded.value;
  *bound = folded.bound;
}

}  // namespace kaon::compiler
