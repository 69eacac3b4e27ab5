// The numbers that decide a random program: drawn from a seed, or given. A failure is made smaller by making this list
// shorter and its numbers smaller, whatever is built from them; so 0 must always decide for the simplest.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace kaon::compiler {

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}
  /// What lies behind the end of `given` is 0.
  explicit Choices(std::vector<uint32_t> given) : given_(std::move(given)), is_given_(true) {}

  /// A number from 0 to limit - 1; `limit` is at least 1.
  uint32_t below(uint32_t limit) {
    uint32_t choice = 0;
    if (!is_given_)
      choice = static_cast<uint32_t>(random_() % limit);
    else if (taken_.size() < given_.size())
      choice = given_[taken_.size()] % limit;
    taken_.push_back(choice);
    return choice;
  }
  /// True once in `n` times, and never when all choices are 0.
  bool one_in(uint32_t n) { return below(n) == n - 1; }
  template <typename T, size_t N>
  const T& pick(const T (&list)[N]) {
    return list[below(static_cast<uint32_t>(N))];
  }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[below(static_cast<uint32_t>(list.size()))];
  }

  /// All choices so far.
  const std::vector<uint32_t>& taken() const { return taken_; }

 private:
  std::mt19937_64 random_;
  std::vector<uint32_t> given_, taken_;
  bool is_given_ = false;
};

}  // namespace kaon::compiler
