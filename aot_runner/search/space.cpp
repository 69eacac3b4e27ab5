#include "aot_runner/search/space.h"

#include <algorithm>
#include <numeric>

namespace kaon::runner {
namespace {

/// Deals the choices of one knob like cards: every choice once before any a second time, in a seeded order.
class Deck {
 public:
  explicit Deck(size_t size) : order_(size), next_(size) { std::iota(order_.begin(), order_.end(), size_t{0}); }
  size_t deal(heuristics::Random* random) {
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

std::vector<Config> sample_configs(const SearchSpace& space, size_t count, heuristics::Random* random, std::set<Config>* known) {
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

}  // namespace kaon::runner
