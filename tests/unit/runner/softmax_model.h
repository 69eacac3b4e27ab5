// A model of how long row kernels such as softmax take on a large GPU, for searches that need no GPU. Its constants were
// set so that the configs measured by hand on an H200 in f16 come out within a few percent (see quick_test.cpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "aot_runner/search/observations.h"
#include "aot_runner/search/space.h"

namespace kaon::runner {

/// The knobs of a config as numbers.
struct RowKnobs {
  int64_t block = 1, warps = 4, vec = 8, lanes = 0, repetitions = 0, chunk = 0;
  bool shift = false, stream_in = false, stream_out = false, packed = false;

  static RowKnobs of(const Config& config) {
    RowKnobs k;
    k.block = config.get_int("block.m", 1);
    k.warps = config.get_int("num_warps", 4);
    k.vec = config.get_int("vec", 8);
    k.lanes = config.get_int("lanes.N", 0);
    const std::string row = config.get("reduce.N", "resident(4)");
    const int64_t number = std::stoll(row.substr(row.find('(') + 1));
    (row.rfind("resident", 0) == 0 ? k.repetitions : k.chunk) = number;
    k.shift = config.get("shift.N", "0") == "1";
    k.stream_in = config.get("evict.x", "default") == "stream";
    k.stream_out = config.get("evict.out", "default") == "cs";
    k.packed = config.get("keep.N", "values") == "input";
    return k;
  }
  int64_t threads() const { return 32 * warps; }
  int64_t lanes_along() const { return lanes > 0 ? lanes : std::max<int64_t>(1, threads() / block); }
  /// Rows that one thread holds pieces of.
  int64_t rows_of_thread() const { return std::max<int64_t>(1, block * lanes_along() / threads()); }
  int64_t capacity() const { return repetitions * lanes_along() * vec; }
  int64_t elements() const { return repetitions > 0 ? repetitions * vec * rows_of_thread() : std::max(vec, chunk / threads()); }
};

inline SearchSpace softmax_space() {
  SearchSpace space;
  std::vector<std::string> rows;
  for (int r : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16}) rows.push_back("resident(" + std::to_string(r) + ")");
  for (int c : {1024, 2048, 4096, 8192, 16384}) rows.push_back("chunk(" + std::to_string(c) + ")");
  space.knobs = {{"block.m", {"1", "2", "4", "8", "16", "32"}},
                 {"num_warps", {"1", "2", "4", "7", "8", "16", "32"}},
                 {"vec", {"8"}},
                 {"reduce.N", rows},
                 {"keep.N", {"values", "input"}},
                 {"lanes.N", {"auto", "8", "16", "32"}},
                 {"shift.N", {"0", "1"}},
                 {"div.N", {"8"}},
                 {"evict.x", {"default", "stream"}},
                 {"evict.out", {"default", "cs"}}};
  for (const SearchKnob& knob : space.knobs) space.default_config.set(knob.name, knob.choices[0]);
  space.default_config.set("num_warps", int64_t{4});
  space.default_config.set("reduce.N", std::string("resident(4)"));
  space.generic_config.set("block.m", int64_t{1});
  space.generic_config.set("num_warps", int64_t{4});
  space.generic_config.set("vec", int64_t{1});
  space.generic_config.set("reduce.N", std::string("chunk(512)"));
  space.normalize = [](const Config& given) {
    Config config = given;
    if (config.get_int("vec", 8) == 8) config.set("div.N", int64_t{8});
    if (config.get("shift.N", "0") == "1" || config.get_int("vec", 8) == 1) config.erase("div.N");
    for (const char* knob : {"shift.N", "keep.N", "evict.x", "evict.out", "lanes.N"}) {
      const std::string value = config.get(knob, "0");
      if (value == "0" || value == "values" || value == "default" || value == "auto") config.erase(knob);
    }
    if (config.get("reduce.N", "").rfind("chunk", 0) == 0) config.erase("keep.N");
    return config;
  };
  space.why_illegal = [](const Config& config) -> std::string {
    const RowKnobs k = RowKnobs::of(config);
    if (k.block * k.lanes_along() < k.threads() || k.threads() < k.lanes_along()) return "idle or missing lanes";
    if (k.chunk > 0 && (k.block > 1 || k.lanes > 0 || k.chunk < k.threads() * k.vec)) return "a chunk is one row's";
    const int64_t registers = k.elements() * (k.packed ? 1 : 2) / 2 + 30;
    return registers > std::min<int64_t>(255, 65536 / k.threads()) ? "too many registers" : "";
  };
  space.fill = [](const Config& config, const Shape& shape) {
    const RowKnobs k = RowKnobs::of(config);
    if (config.find("div.N") != nullptr && shape[1] % 8 != 0) return HUGE_VAL;
    if (k.chunk > 0) return 1.0;
    return static_cast<double>(shape[1] + (k.shift ? 7 : 0)) / static_cast<double>(k.capacity());
  };
  space.kind = [](const Shape& shape) { return shape[1] % 8 == 0 ? 0 : 1; };
  const SearchSpace copy = space;
  space.enumerate = [copy](size_t limit) {
    std::set<Config> all;
    const std::function<void(size_t, Config)> extend = [&](size_t knob, const Config& partial) {
      if (all.size() >= limit) return;
      if (knob == copy.knobs.size()) {
        const Config config = copy.normalize(partial);
        if (copy.why_illegal(config).empty()) all.insert(config);
        return;
      }
      for (const std::string& choice : copy.knobs[knob].choices) {
        Config next = partial;
        next.set(copy.knobs[knob].name, choice);
        extend(knob + 1, next);
      }
    };
    extend(0, Config());
    return std::vector<Config>(all.begin(), all.end());
  };
  return space;
}

/// Microseconds on a shape that the config serves.
inline double softmax_us(const RowKnobs& k, const Shape& shape) {
  const double m = static_cast<double>(shape[0]), n = static_cast<double>(shape[1]);
  const double threads = static_cast<double>(k.threads()), elements = static_cast<double>(k.elements());
  const double bytes = 4 * m * n;
  double slow = 1;
  // Too little in flight per thread, or too much to schedule well.
  slow += 0.010 * std::pow(std::log2(elements / 36), 2);
  // Threads without elements, worst in blocks that wait for many warps.
  const double fill = k.chunk > 0 ? 1 : n / static_cast<double>(k.capacity());
  slow += (1 - fill) * (0.02 + 0.40 * std::max(0.0, std::log2(threads / 256)));
  slow += 0.008 * std::max(0.0, std::log2(threads / 256));
  // Blocks on a multiprocessor: with one alone, its reads do not overlap with another's writes.
  const double registers = (k.chunk > 0 ? 32 : elements * (k.packed ? 0.5 : 1.0)) + 30;
  const double blocks = std::floor(65536 / (threads * registers));
  if (blocks < 2) slow += 0.18;
  if (k.packed) slow += 0.012;
  // A second read of the row, from the L2 cache while the written rows leave room.
  if (k.chunk > 0) slow += 0.045 + 0.05 * std::max(0.0, std::log2(16384.0 / static_cast<double>(k.chunk))) + (k.stream_out ? 0 : 0.06);
  if (k.repetitions > 0 && k.stream_out && bytes > 5e7) slow -= 0.006;
  if (k.stream_in) slow += k.chunk > 0 ? 0.03 : -0.002;
  // Short rows: blocks of little work.
  slow += 0.06 * std::max(0.0, std::log2(2048 / (n * static_cast<double>(k.block))));
  if (k.shift) slow += 0.05;
  if (k.vec == 1) slow += 1.2;
  const double waves = std::ceil(m / static_cast<double>(k.block) / 132);
  const double steps = std::ceil(n / (threads / static_cast<double>(k.block) * static_cast<double>(k.vec)));
  const double latency = waves <= 2 ? 0.12 * waves * steps : 0;  // nothing hides it when the device is not full
  return 4.9 + slow * (bytes / 4.12e6 + latency);
}

/// As measured: with a noise of half a percent that depends on config and shape alone.
inline Outcome softmax_outcome(const SearchSpace& space, const Config& config, const Shape& shape) {
  if (space.fill(config, shape) > 1) return {Outcome::Kind::kExcluded, 0, 0};
  const uint64_t hash = (config.fingerprint() ^ static_cast<uint64_t>(shape[0] * 131 + shape[1])) * 0x9e3779b97f4a7c15u;
  const double noise = 1 + 0.005 * (static_cast<double>(hash >> 40) / static_cast<double>(1 << 23) - 1);
  return {Outcome::Kind::kTimed, softmax_us(RowKnobs::of(config), shape) * noise, 0.01};
}

}  // namespace kaon::runner
