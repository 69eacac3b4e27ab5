// Grows a kernel op by op from a pool of values.
#include "tests/support/random_kernel.h"

#include <random>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"

namespace kaon::compiler {
namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

class Generator {
 public:
  explicit Generator(const RandomKernelOptions& options)
      : options_(options), random_(options.seed), builder_(kernel_) {}

  Kernel run() {
    declare();
    builder_.begin_tile({m_});
    for (int i = 0; i < options_.num_inputs; ++i)
      pool_.push_back(builder_.load(i, {Subscript::along(m_), Subscript::along(n_)}));
    pool_.push_back(builder_.broadcast_to(builder_.load(options_.num_inputs, {Subscript::along(n_)}), full()));
    for (int i = 0; i < options_.num_ops; ++i) pool_.push_back(step());
    const ValueId result = pool_.back();
    builder_.store(options_.num_inputs + 1, {Subscript::along(m_), Subscript::along(n_)}, builder_.cast(result, out_));
    const ValueId row = builder_.reduce(ReduceFn::kMax, as(pick(), DType::kF32), {1}, /*keepdim=*/false);
    builder_.store(options_.num_inputs + 2, {Subscript::along(m_)}, builder_.cast(row, out_));
    builder_.end();
    return std::move(kernel_);
  }

 private:
  // Not std::uniform_int_distribution, whose numbers differ between libraries.
  uint64_t below(uint64_t limit) { return random_() % limit; }
  std::vector<AxisId> full() const { return {m_, n_}; }
  ValueId pick() { return pool_[below(pool_.size())]; }
  DType pick_dtype() { return kFloats[below(3)]; }
  ValueId as(ValueId value, DType dtype) { return builder_.cast(value, dtype); }

  void declare() {
    Signature& signature = kernel_.signature;
    signature.kernel = "random" + std::to_string(options_.seed);
    signature.dims = {"M", "N"};
    const DType in = pick_dtype();
    out_ = pick_dtype();
    const int num_tensors = options_.num_inputs + 3;
    const Expr m = Expr::slot(num_tensors), n = Expr::slot(num_tensors + 1);
    auto add = [&](std::string name, DType dtype, std::vector<Expr> extents, bool is_output) {
      TensorParam tensor;
      tensor.name = std::move(name);
      tensor.dtype = dtype;
      tensor.extents = std::move(extents);
      tensor.is_output = is_output;
      signature.tensors.push_back(std::move(tensor));
    };
    for (int i = 0; i < options_.num_inputs; ++i) add("x" + std::to_string(i), in, {m, n}, false);
    add("bias", in, {n}, false);
    add("out", out_, {m, n}, true);
    add("row", out_, {m}, true);
    Axis rows;
    rows.name = "m";
    rows.kind = AxisKind::kTile;
    rows.extent = m;
    m_ = kernel_.new_axis(std::move(rows));
    Axis columns;
    columns.name = "N";
    columns.extent = n;
    n_ = kernel_.new_axis(std::move(columns));
  }

  ValueId step() {
    const uint64_t kind = below(10);
    if (kind < 2) return unary();
    if (kind < 6 || (kind < 8 && !options_.with_reductions) || (kind >= 8 && !options_.with_steps)) return binary();
    return kind < 8 ? row_reduction() : branch();
  }

  ValueId unary() {
    static constexpr UnaryFn kSmooth[] = {UnaryFn::kNeg, UnaryFn::kAbs, UnaryFn::kTanh, UnaryFn::kSigmoid,
                                          UnaryFn::kSin};
    const ValueId a = pick();
    const uint64_t choice = below(options_.with_steps ? 8 : 7);
    if (choice < 5) return builder_.unary(kSmooth[choice], a);
    if (choice == 7) return builder_.unary(UnaryFn::kFloor, a);
    // exp grows and sqrt has a domain: their arguments are brought into range first.
    const ValueId bounded = builder_.unary(UnaryFn::kTanh, a);
    if (choice == 5) return builder_.unary(UnaryFn::kExp, bounded);
    const ValueId two = builder_.float_const(kernel_.type(a).dtype, 2.0, full());
    return builder_.unary(UnaryFn::kSqrt, builder_.binary(BinaryFn::kAdd, bounded, two));
  }

  ValueId binary() {
    static constexpr BinaryFn kFns[] = {BinaryFn::kAdd, BinaryFn::kSub, BinaryFn::kMul, BinaryFn::kMin, BinaryFn::kMax};
    const ValueId a = pick();
    const DType dtype = below(3) == 0 ? pick_dtype() : kernel_.type(a).dtype;
    const uint64_t choice = below(7);
    if (choice < 5) return builder_.binary(kFns[choice], as(a, dtype), as(pick(), dtype));
    if (choice == 5) {
      const double value = (static_cast<double>(below(9)) - 4.0) / 2;
      return builder_.binary(BinaryFn::kAdd, as(a, dtype), builder_.float_const(dtype, value, full()));
    }
    // The divisor stays away from zero.
    const ValueId divisor = builder_.binary(BinaryFn::kAdd, builder_.unary(UnaryFn::kSigmoid, as(pick(), dtype)),
                                            builder_.float_const(dtype, 0.5, full()));
    return builder_.binary(BinaryFn::kDiv, as(a, dtype), divisor);
  }

  ValueId row_reduction() {
    static constexpr ReduceFn kFns[] = {ReduceFn::kMax, ReduceFn::kMin, ReduceFn::kSum};
    const ReduceFn fn = kFns[below(3)];
    ValueId a = as(pick(), DType::kF32);
    if (fn == ReduceFn::kSum) {
      // A sum of values in [-1/8, 1/8] keeps later magnitudes small for rows of a few hundred elements.
      a = builder_.binary(BinaryFn::kMul, builder_.unary(UnaryFn::kTanh, a),
                          builder_.float_const(DType::kF32, 0.125, full()));
    }
    return builder_.broadcast(builder_.reduce(fn, a, {1}, /*keepdim=*/true), full());
  }

  ValueId branch() {
    const ValueId a = pick();
    const DType dtype = kernel_.type(a).dtype;
    const CompareFn fn = below(2) == 0 ? CompareFn::kLt : CompareFn::kGe;
    const ValueId condition = builder_.compare(fn, a, as(pick(), dtype));
    return builder_.select(condition, a, as(pick(), dtype));
  }

  const RandomKernelOptions options_;
  std::mt19937_64 random_;
  Kernel kernel_;
  Builder builder_;
  AxisId m_ = 0, n_ = 0;
  DType out_ = DType::kF32;
  std::vector<ValueId> pool_;  // tiles over [m, N]
};

}  // namespace

Kernel random_kernel(const RandomKernelOptions& options) { return Generator(options).run(); }

}  // namespace kaon::compiler
