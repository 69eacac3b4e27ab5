#include "aot_runner/search/space.h"

#include <algorithm>
#include <numeric>

namespace kaon::runner {
namespace {

constexpr int kShortList = 5;  // knobs with up to this many choices have no distance worth keeping

/// Deals the choices of one knob like cards: every choice once before any a second time, in a seeded order.
class Deck {
 public:
  explicit Deck(size_t size) : order_(size), next_(size) { std::iota(order_.begin(), order_.end(), size_t{0}); }
  size_t deal(Random* random) {
    if (next_ == order_.size()) {
      for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random->below(i)]);
      next_ = 0;
    }
    return order_[next_++];
  }

 private:
  std::vector<size_t> order_;
  size_t next_;
};

}  // namespace

std::vector<Config> seed_configs(const SearchSpace& space) {
  std::vector<Config> seeds = {space.normalize(space.default_config)};
  const Config generic = space.normalize(space.generic_config);
  if (!(generic == seeds[0])) seeds.push_back(generic);
  return seeds;
}

std::vector<Config> sample_configs(const SearchSpace& space, size_t count, Random* random, std::set<Config>* known) {
  std::vector<Deck> decks;
  for (const SearchKnob& knob : space.knobs) decks.emplace_back(knob.choices.size());
  std::vector<Config> sampled;
  const size_t most_tries = count * 40 + 200;
  for (size_t tries = 0; tries < most_tries && sampled.size() < count; ++tries) {
    Config config;
    for (size_t k = 0; k < space.knobs.size(); ++k) {
      if (space.knobs[k].choices.empty()) continue;
      config.set(space.knobs[k].name, space.knobs[k].choices[decks[k].deal(random)]);
    }
    config = space.normalize(config);
    if (!space.why_illegal(config).empty()) continue;
    if (known->insert(config).second) sampled.push_back(std::move(config));
  }
  return sampled;
}

std::vector<Config> neighbours(const SearchSpace& space, const Config& config) {
  std::set<Config> found;
  for (const SearchKnob& knob : space.knobs) {
    const std::string* set = config.find(knob.name);
    const std::string* base = set != nullptr ? set : space.default_config.find(knob.name);
    const int size = static_cast<int>(knob.choices.size());
    int at = -1;
    for (int i = 0; i < size; ++i) {
      if (base != nullptr && knob.choices[static_cast<size_t>(i)] == *base) at = i;
    }
    const bool any = at < 0 || size <= kShortList;
    for (int i = any ? 0 : std::max(0, at - 2); i <= (any ? size - 1 : std::min(size - 1, at + 2)); ++i) {
      if (i == at) continue;
      Config moved = config;
      moved.set(knob.name, knob.choices[static_cast<size_t>(i)]);
      moved = space.normalize(moved);
      if (!(moved == config) && space.why_illegal(moved).empty()) found.insert(std::move(moved));
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace kaon::runner
