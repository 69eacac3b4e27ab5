// Values of the simulated block: element-wise ops, views and reductions within a warp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/functions.h"
#include "tests/support/staged_machine.h"

namespace kaon::compiler {

namespace {

double apply(UnaryFn fn, double a) {
  switch (fn) {
    case UnaryFn::kNeg: return -a;
    case UnaryFn::kNot: return a == 0 ? 1 : 0;
    case UnaryFn::kAbs: return std::abs(a);
    case UnaryFn::kExp: return std::exp(a);
    case UnaryFn::kExp2: return std::exp2(a);
    case UnaryFn::kLog: return std::log(a);
    case UnaryFn::kLog2: return std::log2(a);
    case UnaryFn::kSqrt: return std::sqrt(a);
    case UnaryFn::kRsqrt: return 1 / std::sqrt(a);
    case UnaryFn::kSin: return std::sin(a);
    case UnaryFn::kCos: return std::cos(a);
    case UnaryFn::kTanh: return std::tanh(a);
    case UnaryFn::kErf: return std::erf(a);
    case UnaryFn::kSigmoid: return 1 / (1 + std::exp(-a));
    case UnaryFn::kFloor: return std::floor(a);
    case UnaryFn::kCeil: return std::ceil(a);
    case UnaryFn::kRound: return std::nearbyint(a);
    case UnaryFn::kTrunc: return std::trunc(a);
    case UnaryFn::kIsNan: return std::isnan(a) ? 1 : 0;
  }
  return 0;
}

double apply(BinaryFn fn, double a, double b) {
  const auto bits = [](double v) { return static_cast<int64_t>(v); };
  switch (fn) {
    case BinaryFn::kAdd: return a + b;
    case BinaryFn::kSub: return a - b;
    case BinaryFn::kMul: return a * b;
    case BinaryFn::kDiv: return a / b;
    case BinaryFn::kFloorDiv: return b == 0 ? 0 : std::floor(a / b);
    case BinaryFn::kMod: return b == 0 ? 0 : a - std::floor(a / b) * b;
    case BinaryFn::kMin: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::min(a, b);
    case BinaryFn::kMax: return std::isnan(a) || std::isnan(b) ? std::nan("") : std::max(a, b);
    case BinaryFn::kPow: return std::pow(a, b);
    case BinaryFn::kAnd: return static_cast<double>(bits(a) & bits(b));
    case BinaryFn::kOr: return static_cast<double>(bits(a) | bits(b));
    case BinaryFn::kXor: return static_cast<double>(bits(a) ^ bits(b));
    case BinaryFn::kShl: return static_cast<double>(bits(a) << bits(b));
    case BinaryFn::kShr: return static_cast<double>(bits(a) >> bits(b));
  }
  return 0;
}

bool apply(CompareFn fn, double a, double b) {
  switch (fn) {
    case CompareFn::kEq: return a == b;
    case CompareFn::kNe: return a != b;
    case CompareFn::kLt: return a < b;
    case CompareFn::kLe: return a <= b;
    case CompareFn::kGt: return a > b;
    case CompareFn::kGe: return a >= b;
  }
  return false;
}

}  // namespace

void StagedMachine::run_const(const Op& op) {
  double value = 0;
  if (op.kind == OpKind::kExpr) {
    value = static_cast<double>(eval(std::get<Expr>(*op.find_attr("expr"))));
  } else if (const auto* real = std::get_if<double>(op.find_attr("value"))) {
    value = *real;
  } else {
    value = static_cast<double>(op.int_attr("value"));
  }
  for (SimCell& c : values_[static_cast<size_t>(op.result())]) c = {value, true};
}

void StagedMachine::run_index(const Op& op) {
  const Type& type = kernel_.type(op.result());
  const Layout& layout = kernel_.layout(op.result());
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(op.result()); ++r) {
      cell(op.result(), t, r) = {static_cast<double>(coordinate(type, layout, 0, t, r)), exists(type, layout, t, r)};
    }
  }
}

void StagedMachine::run_axis_info(const Op& op) {
  const auto id = static_cast<AxisId>(op.int_attr("axis"));
  const Axis& axis = kernel_.axis(id);
  const std::string what = op.str_attr("what");
  const int64_t begin = axis.kind == AxisKind::kTile ? begins_[id] : 0;
  int64_t value = 0;
  if (what == "begin") value = begin;
  if (what == "end")
    value = axis.kind == AxisKind::kTile ? std::min(begin + axis.block, axis_end(axis)) : axis_end(axis);
  if (what == "id") value = (begin - axis_first(axis)) / axis.block;
  if (what == "block_size") value = axis.block;
  if (what == "count") value = (axis_end(axis) - axis_first(axis) + axis.block - 1) / axis.block;
  for (SimCell& c : values_[static_cast<size_t>(op.result())]) c = {static_cast<double>(value), true};
}

double StagedMachine::compute(const Op& op, const std::vector<double>& v) {
  if (op.kind == OpKind::kSelect) return v[0] != 0 ? v[1] : v[2];
  if (op.kind == OpKind::kReuse) return v[0];
  if (op.kind == OpKind::kCast) {
    const DType to = kernel_.type(op.result()).dtype;
    if (to == DType::kBool) return v[0] != 0 ? 1 : 0;
    return dtype_is_float(to) ? v[0] : std::trunc(v[0]);
  }
  const std::string name = op.str_attr("fn");
  if (op.kind == OpKind::kUnary) {
    UnaryFn fn{};
    return parse_fn(name, &fn) ? apply(fn, v[0]) : (fail(op, "unknown function"), 0);
  }
  if (op.kind == OpKind::kCompare) {
    CompareFn fn{};
    return parse_fn(name, &fn) ? apply(fn, v[0], v[1]) : (fail(op, "unknown function"), 0);
  }
  BinaryFn fn{};
  return parse_fn(name, &fn) ? apply(fn, v[0], v[1]) : (fail(op, "unknown function"), 0);
}

void StagedMachine::run_elementwise(const Op& op) {
  std::vector<double> operands(op.operands.size());
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(op.result()); ++r) {
      bool defined = true;
      for (size_t i = 0; i < operands.size(); ++i) {
        const SimCell& c = cell(op.operands[i], t, r);
        operands[i] = c.value;
        // A select does not depend on the alternative that it leaves.
        const bool is_read = op.kind != OpKind::kSelect || i == 0 || (i == 1) == (operands[0] != 0);
        defined = defined && (c.is_defined || !is_read);
      }
      cell(op.result(), t, r) = {defined ? compute(op, operands) : 0, defined};
    }
  }
}

/// Moves registers within each thread, and checks that the thread really holds the element that the view names.
void StagedMachine::run_pick(const Op& op) {
  const std::vector<int64_t>& picked = op.ints_attr("registers");
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(op.result()); ++r) {
      const ValueId operand = op.operands[static_cast<size_t>(picked[2 * r])];
      cell(op.result(), t, r) = cell(operand, t, static_cast<uint32_t>(picked[2 * r + 1]));
    }
  }
}

void StagedMachine::run_view(const Op& op) {
  const ValueId from = op.operands[0];
  const Type& from_type = kernel_.type(from);
  const Type& to_type = kernel_.type(op.result());
  const Layout& from_layout = kernel_.layout(from);
  const Layout& to_layout = kernel_.layout(op.result());
  std::vector<std::pair<int, int>> same;  // operand dim, result dim
  for (int dim = 0; dim < from_type.rank(); ++dim) {
    int own = dim;
    if (op.kind == OpKind::kExpandDims) own = dim >= op.int_attr("dim") ? dim + 1 : dim;
    if (op.kind == OpKind::kSqueeze && dim == op.int_attr("dim")) continue;
    if (op.kind == OpKind::kSqueeze) own = dim > op.int_attr("dim") ? dim - 1 : dim;
    if (op.kind == OpKind::kPermute) {
      const auto& perm = op.ints_attr("perm");
      own = static_cast<int>(std::find(perm.begin(), perm.end(), dim) - perm.begin());
    }
    if (from_type.axes[static_cast<size_t>(dim)] == to_type.axes[static_cast<size_t>(own)]) same.push_back({dim, own});
  }
  for (uint32_t r = 0; r < registers(op.result()); ++r) {
    std::vector<uint64_t> wanted(static_cast<size_t>(from_type.rank()), 0);
    for (const auto& [dim, own] : same) wanted[static_cast<size_t>(dim)] = to_layout.register_part(own, r);
    const uint32_t source = from_type.is_scalar() ? 0 : from_layout.owner(wanted).reg;
    for (int t = 0; t < num_threads_; ++t) {
      for (const auto& [dim, own] : same) {
        const uint64_t held = from_layout.position(place(t, source))[static_cast<size_t>(dim)];
        const uint64_t needed = to_layout.position(place(t, r))[static_cast<size_t>(own)];
        if (held != needed) return fail(op, "a thread lacks the element that the view shows it");
      }
      cell(op.result(), t, r) = cell(from, t, source);
    }
  }
}

double StagedMachine::combine(const Op& op, double a, double b) {
  ReduceFn fn{};
  if (!parse_fn(op.str_attr("fn"), &fn)) fail(op, "unknown function");
  switch (fn) {
    case ReduceFn::kSum: return a + b;
    case ReduceFn::kProd: return a * b;
    case ReduceFn::kMax: return apply(BinaryFn::kMax, a, b);
    case ReduceFn::kMin: return apply(BinaryFn::kMin, a, b);
  }
  return a;
}

double StagedMachine::identity(const Op& op) {
  const std::string fn = op.str_attr("fn");
  if (fn == "sum") return 0;
  if (fn == "prod") return 1;
  const double infinity = std::numeric_limits<double>::infinity();
  return fn == "max" ? -infinity : infinity;
}

void StagedMachine::run_reduce_thread(const Op& op) {
  const ValueId from = op.operands[0];
  const Layout& from_layout = kernel_.layout(from);
  const Layout& to_layout = kernel_.layout(op.result());
  const auto& dims = op.ints_attr("dims");
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(op.result()); ++r) {
      SimCell total{identity(op), true};
      int folded = 0;
      for (uint32_t s = 0; s < registers(from); ++s) {
        bool here = true;
        bool present = true;
        for (int dim = 0; dim < from_layout.rank(); ++dim) {
          if (std::find(dims.begin(), dims.end(), dim) == dims.end()) {
            here = here && from_layout.register_part(dim, s) == to_layout.register_part(dim, r);
          } else {
            present = present && exists(kernel_.type(from), from_layout, t, s, dim);
          }
        }
        if (!here) continue;
        ++folded;
        if (!present) continue;
        total.value = combine(op, total.value, cell(from, t, s).value);
        total.is_defined = total.is_defined && cell(from, t, s).is_defined;
      }
      if (folded == 0) return fail(op, "a result folds nothing");
      cell(op.result(), t, r) = total;
    }
  }
}

void StagedMachine::run_reduce_lanes(const Op& op) {
  const ValueId from = op.operands[0];
  if (registers(from) != registers(op.result())) return fail(op, "folding lanes changes registers");
  Values current = values_[static_cast<size_t>(from)];
  const uint32_t count = registers(from);
  for (const int64_t dim : op.ints_attr("dims")) {
    for (const Digit& digit : kernel_.layout(from).digits(static_cast<int>(dim))) {
      for (uint32_t step = 1; digit.where == Where::kLane && step < digit.radix; step *= 2) {
        Values next = current;
        for (int t = 0; t < num_threads_; ++t) {
          const int other = t ^ static_cast<int>(step * digit.unit);
          for (uint32_t r = 0; r < count; ++r) {
            const SimCell& a = current[static_cast<size_t>(t) * count + r];
            const SimCell& b = current[static_cast<size_t>(other) * count + r];
            next[static_cast<size_t>(t) * count + r] = {combine(op, a.value, b.value), a.is_defined && b.is_defined};
          }
        }
        current = std::move(next);
      }
    }
  }
  values_[static_cast<size_t>(op.result())] = std::move(current);
}

}  // namespace kaon::compiler
