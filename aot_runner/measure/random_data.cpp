// Random elements and hashes on the host.
#include "aot_runner/measure/random_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/host/float_bits.h"

namespace kaon::runner {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;
constexpr double kNormalUnit = 1.0 / (209.02 * 65536.0);

uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

double normal(uint64_t z) {
  int64_t sum = -1020;
  for (int shift = 0; shift < 64; shift += 8) sum += static_cast<int64_t>(z >> shift & 0xff);
  const int64_t fraction = static_cast<int64_t>((z * 0xd1342543de82ef95ull) >> 48);
  return static_cast<double>(sum * 65536 + fraction) * kNormalUnit;
}

double element(const FillPlan& plan, uint64_t z) {
  if (plan.kind == FillPlan::Kind::kNormal) return plan.base + plan.scale * normal(z);
  return plan.base + plan.scale * (static_cast<double>(z >> 11) * 0x1p-53);
}

int64_t integer(const FillPlan& plan, uint64_t z) {
  return static_cast<int64_t>(plan.base) + static_cast<int64_t>(z % plan.count);
}

template <typename T, typename Make>
void fill_as(void* destination, int64_t begin, int64_t end, uint64_t seed, const Make& make) {
  T* out = static_cast<T*>(destination);
  for (int64_t i = begin; i < end; ++i) out[i] = make(mix64(static_cast<uint64_t>(i) + seed * kGolden));
}

void fill_range(void* out, int64_t begin, int64_t end, DType dtype, const FillPlan& plan, uint64_t seed) {
  switch (dtype) {
    case DType::kF64: return fill_as<double>(out, begin, end, seed, [&](uint64_t z) { return element(plan, z); });
    case DType::kF32:
      return fill_as<float>(out, begin, end, seed, [&](uint64_t z) { return static_cast<float>(element(plan, z)); });
    case DType::kF16:
      return fill_as<uint16_t>(out, begin, end, seed,
                               [&](uint64_t z) { return host::f32_to_f16(static_cast<float>(element(plan, z))); });
    case DType::kBF16:
      return fill_as<uint16_t>(out, begin, end, seed,
                               [&](uint64_t z) { return host::f32_to_bf16(static_cast<float>(element(plan, z))); });
    // The upper half of an f16 is an f8e5m2. An f8e4m3 gets random bits of magnitude below 2: no NaN among them.
    case DType::kF8E5M2:
      return fill_as<uint8_t>(out, begin, end, seed, [&](uint64_t z) {
        return static_cast<uint8_t>(host::f32_to_f16(static_cast<float>(element(plan, z))) >> 8);
      });
    case DType::kF8E4M3:
      return fill_as<uint8_t>(out, begin, end, seed,
                              [](uint64_t z) { return static_cast<uint8_t>((z & 0x80) | (z >> 8) % 0x40); });
    case DType::kBool:
    case DType::kI8:
    case DType::kU8:
      return fill_as<int8_t>(out, begin, end, seed, [&](uint64_t z) { return static_cast<int8_t>(integer(plan, z)); });
    case DType::kI16:
      return fill_as<int16_t>(out, begin, end, seed,
                              [&](uint64_t z) { return static_cast<int16_t>(integer(plan, z)); });
    case DType::kI32:
    case DType::kU32:
      return fill_as<int32_t>(out, begin, end, seed,
                              [&](uint64_t z) { return static_cast<int32_t>(integer(plan, z)); });
    case DType::kI64: return fill_as<int64_t>(out, begin, end, seed, [&](uint64_t z) { return integer(plan, z); });
  }
}

template <typename T>
uint64_t hash_as(const void* data, int64_t begin, int64_t end) {
  const T* values = static_cast<const T*>(data);
  uint64_t sum = 0;
  for (int64_t i = begin; i < end; ++i)
    sum += mix64(static_cast<uint64_t>(i) * kGolden + static_cast<uint64_t>(values[i]));
  return sum;
}

uint64_t hash_range(const void* data, int64_t begin, int64_t end, int element_bytes) {
  switch (element_bytes) {
    case 1: return hash_as<uint8_t>(data, begin, end);
    case 2: return hash_as<uint16_t>(data, begin, end);
    case 4: return hash_as<uint32_t>(data, begin, end);
    default: return hash_as<uint64_t>(data, begin, end);
  }
}

/// Parts of [0, count) for as many threads as have at least `grain` elements each.
std::vector<int64_t> cuts(int64_t count, int64_t grain) {
  const int64_t processors = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t parts = std::clamp<int64_t>(count / grain, 1, processors);
  std::vector<int64_t> result;
  for (int64_t i = 0; i <= parts; ++i) result.push_back(count / parts * i + std::min(i, count % parts));
  return result;
}

constexpr int64_t kGrain = 1 << 18;

}  // namespace

FillPlan plan_fill(const Recipe& recipe, DType dtype) {
  FillPlan plan;
  if (dtype_is_float(dtype)) {
    plan.base = recipe.kind == RecipeKind::kDefault ? 0 : recipe.low;
    if (recipe.kind == RecipeKind::kNormal) plan.scale = recipe.high;
    if (recipe.kind == RecipeKind::kConstant) plan.scale = 0;
    if (recipe.kind == RecipeKind::kUniform) {
      plan.kind = FillPlan::Kind::kUniformReal;
      plan.scale = recipe.high - recipe.low;
    }
    return plan;
  }
  plan.kind = FillPlan::Kind::kUniformInt;
  double low = recipe.low, high = recipe.high;
  if (recipe.kind == RecipeKind::kConstant) high = low;
  if (recipe.kind == RecipeKind::kDefault) {
    low = dtype_is_signed(dtype) ? -100 : 0;
    high = dtype == DType::kBool ? 1 : 100;
  }
  if (recipe.kind == RecipeKind::kNormal) {  // integers have no normal recipe: two deviations either side
    low = recipe.low - 2 * recipe.high;
    high = recipe.low + 2 * recipe.high;
  }
  plan.base = std::floor(low);
  plan.count = static_cast<uint64_t>(std::max(1.0, std::floor(high) - plan.base + 1));
  return plan;
}

uint64_t tensor_seed(uint64_t seed, int tensor) { return mix64(seed * kGolden + static_cast<uint64_t>(tensor) + 1); }

void fill_random(void* destination, int64_t count, DType dtype, const FillPlan& plan, uint64_t seed) {
  const std::vector<int64_t> cut = cuts(count, kGrain);
  std::vector<std::thread> threads;
  for (size_t i = 1; i + 1 < cut.size(); ++i) {
    threads.emplace_back([&, i] { fill_range(destination, cut[i], cut[i + 1], dtype, plan, seed); });
  }
  fill_range(destination, cut[0], cut[1], dtype, plan, seed);
  for (std::thread& thread : threads) thread.join();
}

uint64_t hash_elements(const void* data, int64_t count, int element_bytes) {
  return hash_range(data, 0, count, element_bytes);
}

}  // namespace kaon::runner
