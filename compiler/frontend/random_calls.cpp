// rand(seed, m, n) and randint(seed, low, high, m, n): Philox 4x32-10, so that a number depends on its place alone.
#include <array>

#include "compiler/frontend/builtins.h"

namespace kaon::compiler {
namespace {

// Constants of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
constexpr int64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr int64_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;
constexpr size_t kMostOffsets = 4;

/// Words of one shape, as u32 values of the IR.
class Philox {
 public:
  Philox(Builder& builder, std::vector<AxisId> axes) : b_(builder), axes_(std::move(axes)) {}

  ValueId low_word(ValueId wide) { return b_.cast(wide, DType::kU32); }
  ValueId high_word(ValueId wide) { return b_.cast(b_.binary(BinaryFn::kShr, wide, wide_const(32)), DType::kU32); }
  ValueId wide_const(int64_t value) { return b_.int_const(DType::kI64, value, axes_); }
  ValueId word_const(int64_t value) { return b_.int_const(DType::kU32, value, axes_); }

  /// The first word that the counter gives under the key.
  ValueId run(std::array<ValueId, 4> counter, std::array<ValueId, 2> key) {
    for (int round = 0; round < kRounds; ++round) {
      if (round > 0) {
        for (size_t i = 0; i < 2; ++i) key[i] = b_.binary(BinaryFn::kAdd, key[i], word_const(kKeySteps[i]));
      }
      // Products of two words, whose halves become words again.
      std::array<ValueId, 2> product;
      for (size_t i = 0; i < 2; ++i) {
        product[i] = b_.binary(BinaryFn::kMul, b_.cast(counter[2 * i], DType::kI64), wide_const(kMultipliers[i]));
      }
      counter = {mix(high_word(product[1]), counter[1], key[0]), low_word(product[1]),
                 mix(high_word(product[0]), counter[3], key[1]), low_word(product[0])};
    }
    return counter[0];
  }

 private:
  ValueId mix(ValueId a, ValueId b, ValueId c) { return b_.binary(BinaryFn::kXor, b_.binary(BinaryFn::kXor, a, b), c); }

  Builder& b_;
  std::vector<AxisId> axes_;
};

}  // namespace

// The offsets as i64 values of one shape: tile variables span their axes, values broadcast.
std::optional<std::vector<ValueId>> KernelBuilder::random_counter(const ast::Expression& node, size_t first) {
  std::vector<Operand> operands;
  std::vector<AxisId> axes;
  size_t variables = 0;
  for (size_t i = first; i < node.children.size(); ++i) {
    Operand operand{expression(*node.children[i]), node.children[i].get()};
    if (operand.value.is_error()) return std::nullopt;
    if (operand.value.kind == Value::Kind::kTileVariable) {
      ++variables;
      axes.push_back(operand.value.axis);
    }
    operands.push_back(std::move(operand));
  }
  if (variables != 0 && variables != operands.size()) {
    fail(node.range, "the offsets of " + node.text +
                         " are all tile variables, or all values; write m.index[:, None] "
                         "for a tile variable m among values");
    return std::nullopt;
  }
  builder_.set_range(node.range);
  std::vector<ValueId> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (variables == 0) {
      if (!require_number(operand)) return std::nullopt;
      const DType dtype = type_of(operand.value).dtype;
      if (operand.value.kind == Value::Kind::kFloatLiteral || !dtype_is_int(dtype)) {
        fail(operand.node->range, "an offset of " + node.text + " is an integer, got " + describe(operand.value));
        return std::nullopt;
      }
      values.push_back(builder_.cast(materialise(operand.value), DType::kI64));
      continue;
    }
    ValueId index = builder_.index(axes[i]);
    for (size_t behind = i + 1; behind < axes.size(); ++behind) index = builder_.expand_dims(index, 1);
    values.push_back(index);
  }
  if (!common_axes(node.text, node.range, operands, DType::kI64, &values)) return std::nullopt;
  return values;
}

Value KernelBuilder::random_call(const ast::Expression& node) {
  const bool is_int = node.text == "randint";
  const size_t first = is_int ? 3 : 1;
  const size_t count = node.children.size();
  if (!only_named(node, {})) return Value::error();
  if (count <= first || count > first + kMostOffsets) {
    return fail(node.range, node.text + " takes " + std::to_string(first + 1) + " to " +
                                std::to_string(first + kMostOffsets) + " arguments, got " + std::to_string(count) +
                                ": " + find_builtin(node.text)->usage);
  }
  std::vector<ValueId> numbers;  // seed, and for randint the range
  for (size_t i = 0; i < first; ++i) {
    const Operand operand{expression(*node.children[i]), node.children[i].get()};
    if (operand.value.is_error() || !require_number(operand)) return Value::error();
    const Type& type = type_of(operand.value);
    if (operand.value.kind == Value::Kind::kFloatLiteral || !dtype_is_int(type.dtype) || !type.is_scalar()) {
      return fail(operand.node->range, std::string(i == 0 ? "the seed" : "a bound") + " of " + node.text +
                                           " is a single integer, got " + describe(operand.value));
    }
    builder_.set_range(node.range);
    numbers.push_back(builder_.cast(materialise(operand.value), DType::kI64));
  }
  const std::optional<std::vector<ValueId>> offsets = random_counter(node, first);
  if (!offsets) return Value::error();
  builder_.set_range(node.range);
  const std::vector<AxisId> axes = kernel_.type((*offsets)[0]).axes;
  Philox philox(builder_, axes);
  std::array<ValueId, 4> counter;
  for (size_t i = 0; i < 4; ++i) {
    const bool is_wide = offsets->size() <= 2;
    const size_t from = is_wide ? i / 2 : i;
    if (from >= offsets->size()) {
      counter[i] = philox.word_const(0);
    } else {
      counter[i] = is_wide && i % 2 == 1 ? philox.high_word((*offsets)[from]) : philox.low_word((*offsets)[from]);
    }
  }
  for (ValueId& number : numbers) number = builder_.broadcast_to(number, axes);
  const ValueId word = philox.run(counter, {philox.low_word(numbers[0]), philox.high_word(numbers[0])});
  if (!is_int) {  // 24 bits are what f32 holds evenly below 1
    const ValueId top = builder_.binary(BinaryFn::kShr, word, philox.word_const(8));
    return Value::typed(builder_.binary(BinaryFn::kMul, builder_.cast(top, DType::kF32),
                                        builder_.float_const(DType::kF32, 0x1p-24, axes)));
  }
  const ValueId range = builder_.binary(BinaryFn::kSub, numbers[2], numbers[1]);
  const ValueId scaled = builder_.binary(BinaryFn::kMul, builder_.cast(word, DType::kI64), range);
  return Value::typed(
      builder_.binary(BinaryFn::kAdd, numbers[1], builder_.binary(BinaryFn::kShr, scaled, philox.wide_const(32))));
}

}  // namespace kaon::compiler
