#include "aot_runner/measure/ordered_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

namespace kaon::runner {
namespace {

/// In [0, 1); not of the standard library's distributions, which differ between libraries.
double unit(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

std::vector<int64_t> sorted_values(const Recipe& recipe, int64_t count, std::mt19937_64& random) {
  const double low = std::floor(recipe.low);
  const double values = std::max(1.0, std::floor(recipe.high) - low + 1);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<int64_t>(low + std::floor(values * unit(random))));
  std::sort(result.begin(), result.end());
  return result;
}

/// How long each row is, compared with the others.
std::vector<double> row_weights(RecipeKind kind, int64_t rows, std::mt19937_64& random) {
  std::vector<double> weights(static_cast<size_t>(std::max<int64_t>(rows, 0)), 1);
  if (kind == RecipeKind::kUniformOffsets) {
    for (double& weight : weights) weight = unit(random);
  } else if (kind == RecipeKind::kPowerOffsets) {
    // Few long ones and many short ones, in any order.
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = 1 / static_cast<double>(i + 1);
    for (size_t i = weights.size(); i > 1; --i) std::swap(weights[i - 1], weights[random() % i]);
  } else if (kind == RecipeKind::kGiantOffsets && rows > 1) {
    weights[weights.size() / 2] = static_cast<double>(rows - 1);  // as much as all others
  } else if (kind == RecipeKind::kHalfOffsets && rows > 1) {
    for (size_t i = 0; i < weights.size(); i += 2) weights[i] = 0;
  }
  return weights;
}

std::vector<int64_t> offsets(const Recipe& recipe, int64_t count, std::mt19937_64& random) {
  if (count == 0) return {};
  const double total = std::floor(recipe.high);
  const std::vector<double> weights = row_weights(recipe.kind, count - 1, random);
  double all = 0;
  for (const double weight : weights) all += weight;
  std::vector<int64_t> result = {0};
  double before = 0;
  for (const double weight : weights) {
    before += weight;
    result.push_back(static_cast<int64_t>(all > 0 ? std::floor(total * before / all) : 0));
  }
  if (count > 1) result.back() = static_cast<int64_t>(total);
  return result;
}

}  // namespace

bool is_ordered(RecipeKind kind) { return kind >= RecipeKind::kSorted; }

Result<std::vector<uint8_t>> ordered_elements(const Recipe& recipe, DType dtype, int64_t count, uint64_t seed) {
  const int bytes = dtype_bytes(dtype);
  const double greatest = std::ldexp(1.0, std::min(8 * bytes - (dtype_is_signed(dtype) ? 1 : 0), 53)) - 1;
  const double least = dtype_is_signed(dtype) ? -greatest - 1 : 0;
  if (!dtype_is_int(dtype)) {
    return Status(Code::kInvalidArgument,
                  std::string("only integers can be sorted or offsets, got ") + dtype_name(dtype));
  }
  if (recipe.low < least || recipe.high > greatest) {
    return Status(Code::kInvalidArgument, std::string("values up to ") +
                                              std::to_string(static_cast<int64_t>(recipe.high)) + " do not fit " +
                                              dtype_name(dtype));
  }
  std::mt19937_64 random(seed);
  const std::vector<int64_t> values =
      recipe.kind == RecipeKind::kSorted ? sorted_values(recipe, count, random) : offsets(recipe, count, random);
  std::vector<uint8_t> result(static_cast<size_t>(count * bytes));
  for (size_t i = 0; i < values.size(); ++i)
    std::memcpy(&result[i * static_cast<size_t>(bytes)], &values[i], static_cast<size_t>(bytes));
  return result;
}

}  // namespace kaon::runner
