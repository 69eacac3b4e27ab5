// Generators of elements.
#include "tests/support/case_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>

#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {
namespace {

Status wrong(const Generator& generator, const std::string& why) {
  return Status(Code::kInvalidArgument, "generator '" + generator.text + "': " + why);
}

void write_element(DType dtype, double value, uint8_t* element) {
  uint64_t bits = 0;
  if (dtype_is_float(dtype))
    bits = encode_float(dtype, value);
  else
    bits = dtype == DType::kBool ? value != 0 : static_cast<uint64_t>(static_cast<int64_t>(value));
  std::memcpy(element, &bits, static_cast<size_t>(dtype_bytes(dtype)));
}

/// Values of one tensor in row-major order.
class Source {
 public:
  Source(const Generator& generator, const CaseShape& names, uint64_t seed, int64_t count)
      : generator_(generator), names_(names), random_(seed), count_(count) {}

  /// Random numbers of this tensor, not of the standard library's distributions, which differ between libraries.
  uint64_t below(uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  double normal() {
    double total = -6;
    for (int i = 0; i < 12; ++i) total += unit();
    return total;
  }
  double integer(double low, double high) {
    return low + static_cast<double>(below(static_cast<uint64_t>(std::max(high - low, 1.0))));
  }

  Status run(std::vector<double>* values) {
    const std::string& name = generator_.name;
    if (name == "normal") {
      KAON_RETURN_IF_ERROR(numbers({0, 1}));
      return each(values, [this] { return arguments_[0] + arguments_[1] * normal(); });
    }
    if (name == "uniform") {
      KAON_RETURN_IF_ERROR(numbers({0, 1}));
      return each(values, [this] { return arguments_[0] + (arguments_[1] - arguments_[0]) * unit(); });
    }
    if (name == "range" || name == "sorted" || name == "permutation") return integers(values);
    if (name == "constant") {
      KAON_RETURN_IF_ERROR(numbers({}, 1));
      return each(values, [this] { return arguments_[0]; });
    }
    if (name == "values") {
      KAON_RETURN_IF_ERROR(numbers({}, generator_.arguments.size()));
      if (arguments_.empty()) return wrong(generator_, "expected the values to draw from");
      return each(values, [this] { return arguments_[below(arguments_.size())]; });
    }
    if (name == "offsets") return offsets(values);
    return wrong(generator_, "unknown, expected one of\n" + std::string(generators_help()));
  }

 private:
  Status each(std::vector<double>* values, const std::function<double()>& draw) {
    for (int64_t i = 0; i < count_; ++i) values->push_back(draw());
    return Status::ok();
  }

  /// Evaluates the arguments; those that are left out have the last of `defaults`.
  Status numbers(std::vector<double> defaults, size_t expected = 0) {
    expected = std::max(expected, defaults.size());
    const std::vector<std::string>& given = generator_.arguments;
    if (given.size() > expected || given.size() < expected - defaults.size())
      return wrong(generator_,
                   "expected " + std::to_string(expected) + " arguments, got " + std::to_string(given.size()));
    for (size_t i = 0; i < expected; ++i) {
      if (i >= given.size()) {
        arguments_.push_back(defaults[defaults.size() - expected + i]);
        continue;
      }
      KAON_ASSIGN_OR_RETURN(const double value, evaluate_expression(given[i], names_));
      arguments_.push_back(value);
    }
    return Status::ok();
  }

  Status integers(std::vector<double>* values) {
    if (generator_.name == "permutation") {
      KAON_RETURN_IF_ERROR(numbers({}, 1));
      std::vector<double> all(static_cast<size_t>(std::max(arguments_[0], 0.0)));
      std::iota(all.begin(), all.end(), 0.0);
      for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
      if (all.size() < static_cast<size_t>(count_))
        return wrong(generator_, "the tensor has " + std::to_string(count_) + " elements");
      values->assign(all.begin(), all.begin() + count_);
      return Status::ok();
    }
    KAON_RETURN_IF_ERROR(numbers({}, 2));
    KAON_RETURN_IF_ERROR(each(values, [this] { return integer(arguments_[0], arguments_[1]); }));
    if (generator_.name == "sorted") std::sort(values->begin(), values->end());
    return Status::ok();
  }

  /// Prefix sums from 0 to a total: rows of the named lengths.
  Status offsets(std::vector<double>* values) {
    std::string how = "random";
    Generator plain = generator_;
    if (plain.arguments.size() == 2) {
      how = plain.arguments[1];
      plain.arguments.pop_back();
    }
    Source total_only(plain, names_, 1, 1);
    KAON_RETURN_IF_ERROR(total_only.numbers({}, 1));
    const double total = total_only.arguments_[0];
    const int64_t rows = count_ - 1;
    if (count_ == 0) return Status::ok();
    double weights = 0;  // of the rows before, and of all
    double all_weights = 0;
    const auto power_weight = [&](int64_t row) { return 1.0 / static_cast<double>(1 + row * 7 % rows); };
    for (int64_t i = 0; i < rows; ++i) all_weights += power_weight(i);
    for (int64_t i = 0; i <= rows; ++i) {
      double value = 0;
      if (how == "random")
        value = integer(0, total + 1);
      else if (how == "even")
        value = std::floor(total * static_cast<double>(i) / static_cast<double>(std::max<int64_t>(rows, 1)));
      else if (how == "half")
        value = std::floor(total * static_cast<double>((i + 1) / 2) / static_cast<double>((rows + 1) / 2));
      else if (how == "power")
        value = std::floor(total * weights / all_weights);
      else if (how == "giant")
        value = i > rows / 2 ? total : 0;
      else if (how == "first" || how == "last")
        value = (how == "first" ? i > 0 : i == rows) ? total : 0;
      else
        return wrong(generator_, "expected random, even, half, power, giant, first or last, got '" + how + "'");
      values->push_back(value);
      if (i < rows) weights += power_weight(i);
    }
    if (how == "random") {
      // Rows without elements are as frequent as others.
      for (int64_t i = 1; i < rows; ++i) {
        if (below(3) == 0) (*values)[static_cast<size_t>(i)] = (*values)[static_cast<size_t>(i - 1)];
      }
      std::sort(values->begin(), values->end());
    }
    values->back() = total;
    values->front() = 0;
    return Status::ok();
  }

  const Generator& generator_;
  const CaseShape& names_;
  std::mt19937_64 random_;
  const int64_t count_;
  std::vector<double> arguments_;
};

}  // namespace

const char* generators_help() {
  return "  normal(MEAN, DEVIATION)     both may be left out: 0, 1\n"
         "  uniform(LOW, HIGH)          real numbers, from 0 to 1 if left out\n"
         "  range(LOW, END)             integers from LOW to END - 1\n"
         "  sorted(LOW, END)            the same in ascending order, as segment ids are\n"
         "  permutation(N)              distinct integers below N\n"
         "  offsets(TOTAL, HOW)         prefix sums from 0 to TOTAL: random (default; a third of the rows is empty), "
         "even,\n"
         "                              half (every other row is empty), power (few rows have most), giant\n"
         "                              (one row in the middle has all), first, last\n"
         "  values(A, B, ...)           each element is one of them\n"
         "  NUMBER                      every element\n";
}

Status fill_tensor(const Generator& generator, const CaseShape& names, uint64_t seed, CaseTensor* tensor) {
  std::vector<double> values;
  KAON_RETURN_IF_ERROR(Source(generator, names, seed, tensor->count()).run(&values));
  size_t i = 0;
  const DType dtype = tensor->view().dtype;
  tensor->each([&](int64_t offset) { write_element(dtype, values[i++], tensor->element(offset)); });
  return Status::ok();
}

Generator default_generator(DType dtype) {
  const char* text = "normal(0, 2)";
  if (dtype == DType::kBool)
    text = "range(0, 2)";
  else if (dtype_is_int(dtype))
    text = dtype_is_signed(dtype) ? "range(-100, 101)" : "range(0, 101)";
  return *parse_generator(text);
}

void plant_specials(uint64_t seed, CaseTensor* tensor) {
  const DType dtype = tensor->view().dtype;
  std::mt19937_64 random(seed);
  std::vector<double> specials;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (dtype_is_float(dtype)) {
    const FloatFormat& format = float_format(dtype);
    specials = {std::nan(""), kInf, -kInf, 0.0, -0.0, format.max_finite, -format.max_finite, format.min_normal};
  } else if (dtype != DType::kBool && dtype != DType::kI64) {
    const int bits = 8 * dtype_bytes(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
    specials = {0, std::ldexp(1, bits) - 1, dtype_is_signed(dtype) ? -std::ldexp(1, bits) : 1};
  }
  if (specials.empty()) return;
  size_t next = random() % specials.size();
  // One in eight elements; never all of a row, so that ordinary results remain.
  tensor->each([&](int64_t offset) {
    if (random() % 8 == 0) write_element(dtype, specials[next++ % specials.size()], tensor->element(offset));
  });
}

}  // namespace kaon::compiler
