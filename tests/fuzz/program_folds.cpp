// Random expressions across lanes: folds, scans, places of extrema, products of matrices.
#include <algorithm>
#include <cstddef>

#include "tests/fuzz/program_writer.h"

namespace kaon::compiler {

/// The name of a new helper.
std::string ProgramWriter::function(const std::string& parameters, const std::string& body) {
  const std::string name = new_name("combine");
  functions_ += "fn " + name + "(" + parameters + ") { " + body + " }\n";
  return name;
}

/// A fold along one or two axes that the type lacks, which are dropped or, where the type has a unit, kept as one.
std::string ProgramWriter::reduction(const ValueType& type, int depth) {
  std::vector<int> missing;
  for (const int id : active_) {
    if (std::find(type.axes.begin(), type.axes.end(), id) == type.axes.end()) missing.push_back(id);
  }
  if (missing.empty() || type.axes.size() >= 4) return binary(type, depth);
  ValueType from = type;
  const int axis = choices_.pick(missing);
  size_t at = static_cast<size_t>(std::find(type.axes.begin(), type.axes.end(), kUnit) - type.axes.begin());
  const bool keeps = at < type.axes.size();
  if (keeps) {
    from.axes[at] = axis;
  } else {
    at = choices_.below(static_cast<uint32_t>(type.axes.size() + 1));
    from.axes.insert(from.axes.begin() + static_cast<std::ptrdiff_t>(at), axis);
  }
  if (!has_parents(from.axes) || !has_parents(type.axes)) return binary(type, depth);
  std::string dims = choices_.below(4) == 0 ? std::to_string(static_cast<int>(at) - static_cast<int>(from.axes.size()))
                                            : std::to_string(at);
  const std::string kept = keeps ? ", keepdim=true" : "";
  const uint32_t kind = choices_.below(8);
  if (kind == 6 && type.dtype != DType::kBool) {
    while (from.dtype = random_dtype(), from.dtype == DType::kBool) {
    }
    const std::string fn = choices_.below(2) == 0 ? "argmax" : "argmin";
    return cast_to(type.dtype, DType::kI64, fn + "(" + value(from, depth - 1) + ", dim=" + dims + kept + ")");
  }
  // All that is left of the axes in front as well.
  const bool folds_two = !keeps && missing.size() > 1 && at > 0 && choices_.one_in(5);
  if (folds_two) {
    const int other = missing[missing[0] == axis ? 1 : 0];
    from.axes.insert(from.axes.begin(), other);
    if (!has_parents(from.axes))
      from.axes.erase(from.axes.begin());
    else
      dims = "(0, " + std::to_string(at + 1) + ")";
  }
  const std::string along = ", dim=" + dims + kept;
  if (kind == 7 || type.dtype == DType::kBool) return fold_by_function(from, depth, along);
  static constexpr const char* kFns[] = {"sum", "amax", "amin", "prod", "mean"};
  const bool can_mean = dtype_is_float(type.dtype) && !axes_[static_cast<size_t>(axis)].is_tile &&
                        from.axes.size() <= type.axes.size() + 1;
  const std::string fn = kFns[choices_.below(can_mean ? 5 : 4)];
  std::string inner = value(from, depth - 1);
  if (dtype_is_float(type.dtype) && fn == "prod") inner = "(1 + 0.125 * tanh(" + inner + "))";
  return fn + "(" + inner + along + ")";
}

/// A fold by a function that is associative and commutative; `along` is ", dim=..." and the like.
std::string ProgramWriter::fold_by_function(const ValueType& from, int depth, const std::string& along) {
  const std::string a = value(from, depth - 1);
  const std::string dtype = dtype_name(from.dtype);
  const auto reduce = [&](const std::string& fn, const std::string& tuple) {
    return "reduce(" + fn + ", " + tuple + along + ")";
  };
  if (from.dtype == DType::kBool)
    return reduce(function("a, b", choices_.below(2) == 0 ? "return a or b;" : "return a ^ b;"), a);
  const uint32_t kind = choices_.below(4);
  if (kind == 0) return reduce("maximum", a);
  if (kind == 1) return reduce(function("a, b", "return a + b;"), a);
  if (dtype_is_float(from.dtype) && kind == 2) {
    // Mean and sum of squares of parts put together.
    const std::string fn = function("ma, sa, na, mb, sb, nb",
                                    "let n = na + nb; let d = mb - ma; return ma + d * (nb / n), "
                                    "sa + sb + d * d * (na * nb / n), n;");
    return reduce(fn, "(tanh(" + a + "), " + dtype + "(0), " + dtype + "(1))") + "[" +
           std::to_string(choices_.below(3)) + "]";
  }
  if (dtype_is_float(from.dtype)) {
    const std::string fn =
        function("ma, sa, mb, sb", "let m = maximum(ma, mb); return m, sa * exp(ma - m) + sb * exp(mb - m);");
    return reduce(fn, "(tanh(" + a + "), " + dtype + "(1))") + "[" + std::to_string(choices_.below(2)) + "]";
  }
  if (kind == 2) {
    // The greatest with the least of its companions.
    const std::string fn = function("a, i, b, j",
                                    "let takes = b > a or (b == a and j < i); "
                                    "return where(takes, b, a), where(takes, j, i);");
    return reduce(fn, "(" + a + ", " + value({DType::kI64, from.axes}, depth - 1) + ")") + "[0]";
  }
  return reduce(function("a, i, b, j", "return a ^ b, i & j;"), "(" + a + ", " + a + ")") + "[" +
         std::to_string(choices_.below(2)) + "]";
}

/// Prefixes along one of the type's axes.
std::string ProgramWriter::scan(const ValueType& type, int depth) {
  std::vector<size_t> dims;
  for (size_t dim = 0; dim < type.axes.size(); ++dim) {
    const auto is_child = [&](int id) {
      if (id == kUnit) return false;
      const std::vector<int>& parents = axes_[static_cast<size_t>(id)].parents;
      return std::count(parents.begin(), parents.end(), type.axes[dim]) > 0;
    };
    if (type.axes[dim] != kUnit && std::none_of(type.axes.begin(), type.axes.end(), is_child)) dims.push_back(dim);
  }
  if (dims.empty() || !has_parents(type.axes)) return binary(type, depth);
  const size_t dim = choices_.pick(dims);
  std::string along =
      ", dim=" + std::to_string(choices_.below(4) == 3 ? static_cast<int>(dim) - static_cast<int>(type.axes.size())
                                                       : static_cast<int>(dim));
  if (choices_.one_in(3)) along += ", reverse=true";
  const uint32_t kind = choices_.below(4);
  if (kind > 1 || type.dtype == DType::kBool) return scan_by_function(type, depth, along);
  const std::string a = value(type, depth - 1);
  if (kind == 0) return "cumsum(" + a + along + ")";
  return "cumprod(" + (dtype_is_float(type.dtype) ? "(1 + 0.125 * tanh(" + a + "))" : a) + along + ")";
}

/// The same by a function that is associative, not all of them commutative.
std::string ProgramWriter::scan_by_function(const ValueType& type, int depth, const std::string& along) {
  const std::string a = value(type, depth - 1);
  const auto scan = [&](const std::string& fn, const std::string& tuple) {
    return "associative_scan(" + fn + ", " + tuple + along + ")";
  };
  if (type.dtype == DType::kBool)
    return scan(function("a, b", choices_.below(2) == 0 ? "return a and b;" : "return a ^ b;"), a);
  switch (choices_.below(5)) {
    case 0: return scan("maximum", a);
    case 1: return scan(function("a, b", "return a + b;"), a);
    case 2: {
      const std::string b = value(type, depth - 1);
      const std::string scale = dtype_is_float(type.dtype) ? "tanh(" + a + ")" : a;
      return scan(function("la, lb, ra, rb", "return la * ra, lb * ra + rb;"), "(" + scale + ", " + b + ")") + "[" +
             std::to_string(choices_.below(2)) + "]";
    }
    case 3: {
      // Sums of runs, each from an element that starts one.
      const std::string starts = value({DType::kBool, type.axes}, depth - 1);
      return scan(function("left, l, right, r", "return where(r, right, left + right), l or r;"),
                  "(" + a + ", " + starts + ")") +
             "[0]";
    }
    default: {
      // The last that is set.
      const std::string set = value({DType::kBool, type.axes}, depth - 1);
      return scan(function("l, left, r, right", "return l or r, where(r, right, left);"), "(" + set + ", " + a + ")") +
             "[1]";
    }
  }
}

/// A matrix, or several, of values that are stored or computed.
std::string ProgramWriter::factor(DType dtype, const std::vector<int>& axes) {
  const bool is_narrow = dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2;
  if (!is_narrow && choices_.below(3) != 0) return value({dtype, axes}, 1);
  const Tensor* tensor = find_or_make_input(dtype, axes);
  if (tensor != nullptr) return stored(*tensor);
  return cast_to(dtype, is_narrow ? DType::kF32 : dtype, filled({is_narrow ? DType::kF32 : dtype, axes}));
}

/// A product of matrices, summed along an axis that the type lacks.
std::string ProgramWriter::product(const ValueType& type, int depth) {
  const size_t rank = type.axes.size();
  std::vector<int> missing;
  for (const int id : active_) {
    if (std::find(type.axes.begin(), type.axes.end(), id) == type.axes.end() && !is_jagged({id})) missing.push_back(id);
  }
  if (rank < 2 || rank > 3 || missing.empty() || has_units(type) || is_jagged(type.axes)) return binary(type, depth);
  static constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kBF16,   DType::kI8,
                                     DType::kU8,  DType::kF64, DType::kF8E4M3, DType::kF8E5M2};
  const DType dtype = choices_.pick(kTypes);
  const DType sum = dtype == DType::kI8 || dtype == DType::kU8 ? DType::kI32
                    : dtype == DType::kF64                     ? DType::kF64
                                                               : DType::kF32;
  const int along = choices_.pick(missing);
  std::vector<int> left(type.axes.begin(), type.axes.end() - 2), right = left;
  // Leading axes broadcast.
  if (!right.empty() && choices_.one_in(3)) right.clear();
  left.insert(left.end(), {type.axes[rank - 2], along});
  const bool is_turned = choices_.one_in(3);
  const int last = type.axes[rank - 1];
  right.insert(right.end(), {is_turned ? last : along, is_turned ? along : last});
  const std::string a = factor(dtype, left);
  const std::string b = factor(dtype, right) + (is_turned ? ".transpose(-1, -2)" : "");
  std::string text = "(" + a + " @ " + b + ")";
  if (choices_.below(3) != 0)
    text = "dot(" + a + ", " + b + (choices_.below(2) == 0 ? "" : ", " + value({sum, type.axes}, 1)) + ")";
  return cast_to(type.dtype, sum, text);
}

}  // namespace kaon::compiler
