// Greedy: parts are left out, from large to single, then numbers are lowered; again until nothing helps.
#include "tests/fuzz/shrink.h"

#include <algorithm>
#include <cstddef>

namespace kaon::compiler {
namespace {

class Shrinker {
 public:
  Shrinker(std::vector<uint32_t> choices, int tries,
           const std::function<bool(const std::vector<uint32_t>&)>& still_fails)
      : best_(std::move(choices)), tries_(tries), still_fails_(still_fails) {}

  std::vector<uint32_t> run() {
    drop_end();
    for (bool improved = true; improved && tries_ > 0;) {
      improved = false;
      for (size_t size = 16; size > 0; size /= 2) improved |= drop_parts(size);
      for (size_t size = 8; size > 0; size /= 2) improved |= clear_parts(size);
      improved |= lower_numbers();
    }
    return best_;
  }

 private:
  bool try_this(const std::vector<uint32_t>& candidate) {
    if (tries_ <= 0 || candidate == best_) return false;
    --tries_;
    if (!still_fails_(candidate)) return false;
    best_ = candidate;
    return true;
  }

  /// Everything behind half, then behind three quarters, and so on, is 0.
  void drop_end() {
    for (size_t keep = best_.size() / 2, step = best_.size() / 4; step > 0; step /= 2) {
      const std::vector<uint32_t> shorter(best_.begin(),
                                          best_.begin() + static_cast<std::ptrdiff_t>(std::min(keep, best_.size())));
      keep = try_this(shorter) ? keep - std::min(step, keep) : keep + step;
    }
  }

  bool drop_parts(size_t size) {
    bool improved = false;
    for (size_t at = best_.size(); at-- > 0;) {
      if (at + size > best_.size()) continue;
      std::vector<uint32_t> candidate = best_;
      candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(at),
                      candidate.begin() + static_cast<std::ptrdiff_t>(at + size));
      improved |= try_this(candidate);
    }
    return improved;
  }

  bool clear_parts(size_t size) {
    bool improved = false;
    for (size_t at = 0; at + size <= best_.size(); at += size) {
      std::vector<uint32_t> candidate = best_;
      std::fill_n(candidate.begin() + static_cast<std::ptrdiff_t>(at), size, 0);
      improved |= try_this(candidate);
    }
    return improved;
  }

  bool lower_numbers() {
    bool improved = false;
    for (size_t at = 0; at < best_.size(); ++at) {
      while (best_[at] > 0) {
        std::vector<uint32_t> candidate = best_;
        candidate[at] /= 2;
        if (try_this(candidate)) {
          improved = true;
          continue;
        }
        candidate[at] = best_[at] - 1;
        if (!try_this(candidate)) break;
        improved = true;
      }
    }
    return improved;
  }

  std::vector<uint32_t> best_;
  int tries_;
  const std::function<bool(const std::vector<uint32_t>&)>& still_fails_;
};

}  // namespace

std::vector<uint32_t> shrink(std::vector<uint32_t> choices, int tries,
                             const std::function<bool(const std::vector<uint32_t>&)>& still_fails) {
  return Shrinker(std::move(choices), tries, still_fails).run();
}

}  // namespace kaon::compiler
