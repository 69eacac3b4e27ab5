// Evaluates row kernels on whole arrays, independently of the oracle's own machine.
#include "tests/unit/oracle/simulate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/ir/functions.h"
#include "compiler/ir/math_error.h"
#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {
namespace {

struct Array {
  int64_t rows = 1, columns = 1;
  std::vector<double> data;
};

class Simulator {
 public:
  Simulator(const Kernel& kernel, const std::vector<HostTensor>& tensors, uint64_t seed)
      : kernel_(kernel), tensors_(tensors), random_(seed), arrays_(kernel.values.size()) {
    m_ = tensors[0].sizes[0];
    n_ = tensors[0].sizes[1];
  }

  void run() {
    for (const auto& op : kernel_.body.ops[0]->regions[0].ops) run_op(*op);
  }

 private:
  Array& array(ValueId value) { return arrays_[static_cast<size_t>(value)]; }
  double error() { return static_cast<double>(static_cast<int64_t>(random_())) * 0x1p-63; }  // in [-1, 1)

  Array make(const Type& type) const {
    Array result;
    // Of a vector over N alone the one row stands for all.
    result.rows = type.axes.empty() || type.axes[0] != 0 ? 1 : m_;
    result.columns = type.axes.empty() || type.axes.back() != 1 ? 1 : n_;
    result.data.resize(static_cast<size_t>(result.rows * result.columns));
    return result;
  }

  double unary(UnaryFn fn, DType dtype, double x) {
    double y = 0;
    switch (fn) {
      case UnaryFn::kNeg: return -x;
      case UnaryFn::kAbs: return std::fabs(x);
      case UnaryFn::kFloor: return std::floor(x);
      case UnaryFn::kTanh: y = std::tanh(x); break;
      case UnaryFn::kSigmoid: y = 1 / (1 + std::exp(-x)); break;
      case UnaryFn::kSin: y = std::sin(x); break;
      case UnaryFn::kExp: y = std::exp(x); break;
      default: y = std::sqrt(x); break;
    }
    const MathError allowed = math_error(fn);
    const double relative = (allowed.ulps + allowed.ulps_per_x * std::fabs(x)) * 0x1p-23;
    return round_to(dtype, round_to(DType::kF32, y + error() * (relative * std::fabs(y) + allowed.absolute)));
  }

  double binary(BinaryFn fn, DType dtype, double a, double b) {
    switch (fn) {
      case BinaryFn::kAdd: return round_to(dtype, a + b);
      case BinaryFn::kSub: return round_to(dtype, a - b);
      case BinaryFn::kMul: return round_to(dtype, a * b);
      case BinaryFn::kDiv: return round_to(dtype, a / b);
      case BinaryFn::kMin: return std::min(a, b);
      default: return std::max(a, b);
    }
  }

  double reduce(ReduceFn fn, DType dtype, std::vector<double> terms) {
    if (terms.empty()) return fn == ReduceFn::kSum ? 0 : fn == ReduceFn::kMax ? -HUGE_VAL : HUGE_VAL;
    std::shuffle(terms.begin(), terms.end(), random_);
    while (terms.size() > 1) {
      const double last = terms.back();
      terms.pop_back();
      double& other = terms[random_() % terms.size()];
      if (fn == ReduceFn::kSum)
        other = round_to(dtype, other + last);
      else
        other = fn == ReduceFn::kMax ? std::max(other, last) : std::min(other, last);
    }
    return terms[0];
  }

  double read(const HostTensor& tensor, int64_t i) const {
    uint64_t bits = 0;
    const auto size = static_cast<size_t>(dtype_bytes(tensor.dtype));
    std::memcpy(&bits, static_cast<const char*>(tensor.data) + static_cast<size_t>(i) * size, size);
    return decode_float(tensor.dtype, bits);
  }

  void write(const HostTensor& tensor, const Array& values) const {
    const auto size = static_cast<size_t>(dtype_bytes(tensor.dtype));
    for (size_t i = 0; i < values.data.size(); ++i) {
      const uint64_t bits = encode_float(tensor.dtype, values.data[i]);
      std::memcpy(static_cast<char*>(tensor.data) + i * size, &bits, size);
    }
  }

  void run_op(const Op& op) {
    if (op.kind == OpKind::kYield) return;
    const auto tensor = static_cast<size_t>(op.int_attr("tensor"));
    if (op.kind == OpKind::kStore) return write(tensors_[tensor], array(op.operands[0]));
    const Type& type = kernel_.type(op.result());
    Array result = make(type);
    auto operand = [&](size_t k, size_t i) { return array(op.operands[k]).data[i]; };
    const std::string fn = op.str_attr("fn");
    UnaryFn unary_fn{};
    BinaryFn binary_fn{};
    ReduceFn reduce_fn{};
    parse_fn(fn, &unary_fn);
    parse_fn(fn, &binary_fn);
    parse_fn(fn, &reduce_fn);
    if (op.kind == OpKind::kReduce) {
      const std::vector<double>& data = array(op.operands[0]).data;
      for (int64_t m = 0; m < m_; ++m) {
        result.data[static_cast<size_t>(m)] =
            reduce(reduce_fn, type.dtype, std::vector<double>(data.begin() + m * n_, data.begin() + (m + 1) * n_));
      }
    }
    for (size_t i = 0; op.kind != OpKind::kReduce && i < result.data.size(); ++i) {
      double& out = result.data[i];
      const size_t column = i % static_cast<size_t>(result.columns), row = i / static_cast<size_t>(result.columns);
      switch (op.kind) {
        case OpKind::kLoad: out = read(tensors_[tensor], static_cast<int64_t>(i)); break;
        case OpKind::kConst: out = std::get<double>(*op.find_attr("value")); break;
        case OpKind::kExpandDims: out = operand(0, i); break;
        case OpKind::kBroadcast: {
          const Array& a = array(op.operands[0]);
          out = a.data[(a.rows == 1 ? 0 : row) * static_cast<size_t>(a.columns) + (a.columns == 1 ? 0 : column)];
          break;
        }
        case OpKind::kCast: out = round_to(type.dtype, operand(0, i)); break;
        case OpKind::kCompare: out = fn == "lt" ? operand(0, i) < operand(1, i) : operand(0, i) >= operand(1, i); break;
        case OpKind::kSelect: out = operand(0, i) != 0 ? operand(1, i) : operand(2, i); break;
        case OpKind::kUnary: out = unary(unary_fn, type.dtype, operand(0, i)); break;
        default: out = binary(binary_fn, type.dtype, operand(0, i), operand(1, i)); break;
      }
    }
    array(op.result()) = std::move(result);
  }

  const Kernel& kernel_;
  const std::vector<HostTensor>& tensors_;
  std::mt19937_64 random_;
  std::vector<Array> arrays_;
  int64_t m_ = 0, n_ = 0;
};

}  // namespace

void simulate(const Kernel& kernel, const std::vector<HostTensor>& tensors, uint64_t seed) {
  Simulator(kernel, tensors, seed).run();
}

}  // namespace kaon::compiler
