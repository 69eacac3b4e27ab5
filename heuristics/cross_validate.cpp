// Folds, prices and the choice between them.
#include "heuristics/cross_validate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "heuristics/landmarks.h"
#include "heuristics/random.h"
#include "heuristics/subset.h"
#include "heuristics/teacher.h"
#include "heuristics/tree_passes.h"

namespace kaon::heuristics {
namespace {

// Millionths of mean log regret that one more leaf must earn.
constexpr int64_t kPricesMicro[] = {500, 1000, 2000, 4000, 8000, 16000, 32000};
constexpr int64_t kDefaultPriceMicro = 800;
constexpr int64_t kMaxSlackMicro = 1000;
constexpr size_t kFewestShapes = 4;
constexpr double kLuckShare = 0.2;  // of the noise floor

// Shapes in seeded random order; shape i of it belongs to fold i % folds.
std::vector<int> shuffled(std::vector<int> shapes, uint64_t seed) {
  Random random(seed);
  for (size_t i = shapes.size(); i > 1; --i) std::swap(shapes[i - 1], shapes[random.below(i)]);
  return shapes;
}

int64_t cost_of(const Sample& sample, const std::vector<uint16_t>& ranked) {
  for (uint16_t v : ranked) {
    if (!(sample.refused >> v & 1)) return sample.cost_micro[v];
  }
  return CostTable::kFailedMicro;
}

struct WeightedCost {
  int64_t cost_micro = 0;
  int64_t weight = 0;
};

double mean_cost(const std::vector<WeightedCost>& costs) {
  double sum = 0, weight = 0;
  for (const WeightedCost& c : costs) {
    sum += static_cast<double>(c.cost_micro) * static_cast<double>(c.weight);
    weight += static_cast<double>(c.weight);
  }
  return weight > 0 ? sum / weight : 0;
}

double standard_error(const std::vector<WeightedCost>& costs, double mean) {
  double squares = 0;
  for (const WeightedCost& c : costs) squares += std::pow(static_cast<double>(c.cost_micro) - mean, 2);
  const double n = static_cast<double>(costs.size());
  return n > 1 ? std::sqrt(squares / (n - 1) / n) : 0;
}

Validation choose_price(const std::vector<std::vector<WeightedCost>>& by_price) {
  size_t best = 0;
  std::vector<double> means;
  for (const std::vector<WeightedCost>& costs : by_price) means.push_back(mean_cost(costs));
  for (size_t p = 1; p < means.size(); ++p) {
    if (means[p] < means[best]) best = p;
  }
  const double slack = std::min(standard_error(by_price[best], means[best]) / 2, static_cast<double>(kMaxSlackMicro));
  size_t chosen = best;
  for (size_t p = best; p < means.size(); ++p) {
    if (means[p] <= means[best] + slack) chosen = p;
  }
  return {kPricesMicro[chosen], std::llround(means[chosen])};
}

}  // namespace

FitProblem::FitProblem(const Measurements& fitted, const Table& measured, const DistillOptions& opts)
    : device(fitted.device),
      table(measured),
      options(opts),
      model{fitted.noise_floor_permille, fitted.noise_floor_ns, opts.worst_regret},
      costs(measured, model),
      shapes(fitted_shapes(measured, costs)),
      vocabulary(tree_vocabulary(fitted, measured)) {}

GrowOptions FitProblem::grow_options(size_t num_shapes, const std::vector<int32_t>& kept) const {
  GrowOptions grow;
  grow.min_leaf_shapes = std::clamp(static_cast<int>(num_shapes / 6), 1, std::max(options.min_leaf_shapes, 1));
  for (const TreeFeature& feature : vocabulary.features) {
    grow.preferred.push_back(landmarks(device, table, kept, feature));
  }
  return grow;
}

Result<std::vector<PredictedShape>> FitProblem::predict_around(const std::vector<int>& train) const {
  KAON_ASSIGN_OR_RETURN(Teacher teacher, Teacher::train(device, table, costs, train, options.seed));
  const int count = static_cast<int>(train.size()) * std::max(options.predicted_per_measured, 0);
  std::vector<int32_t> all(table.configs.size());
  std::iota(all.begin(), all.end(), 0);
  KAON_ASSIGN_OR_RETURN(std::vector<PredictedShape> predicted,
                        teacher.predict(denser_grid(table, train, count, options.seed), all));
  const double share = options.predicted_share * 1000 * static_cast<double>(train.size());
  for (PredictedShape& shape : predicted) {
    shape.weight_permille =
        static_cast<int32_t>(std::max<int64_t>(1, std::llround(share / static_cast<double>(predicted.size()))));
  }
  return predicted;
}

std::vector<int32_t> FitProblem::choose_kept(const std::vector<int>& train,
                                             const std::vector<PredictedShape>& predicted) const {
  // Among many twins some will look better than the rest by luck; a gain far inside the noise is no reason to ship one.
  const double gain = std::max(options.variant_gain, kLuckShare * model.noise_floor_permille / 1000.0);
  const SubsetOptions subset{options.max_variants, std::llround(1e6 * gain)};
  return choose_subset(table, costs, train, predicted, model, subset);
}

GrownTree FitProblem::grow_on(const std::vector<int>& train, const std::vector<PredictedShape>& predicted,
                              const std::vector<int32_t>& kept) const {
  std::vector<Sample> samples = measured_samples(table, costs, train, kept, vocabulary.features);
  std::vector<Sample> more = predicted_samples(table, costs, predicted, kept, vocabulary.features, model);
  samples.insert(samples.end(), more.begin(), more.end());
  return grow(samples, static_cast<int>(kept.size()), grow_options(train.size(), kept));
}

Result<Validation> cross_validate(const FitProblem& problem, bool with_teacher) {
  if (problem.shapes.size() < kFewestShapes) return Validation{kDefaultPriceMicro, 0};
  const std::vector<int> order = shuffled(problem.shapes, problem.options.seed);
  const size_t folds = std::clamp<size_t>(static_cast<size_t>(std::max(problem.options.folds, 2)), 2, order.size());
  std::vector<std::vector<WeightedCost>> by_price(std::size(kPricesMicro));
  for (size_t fold = 0; fold < folds; ++fold) {
    std::vector<int> train, left_out;
    for (size_t i = 0; i < order.size(); ++i) (i % folds == fold ? left_out : train).push_back(order[i]);
    std::sort(train.begin(), train.end());
    std::vector<PredictedShape> predicted;
    if (with_teacher) {
      KAON_ASSIGN_OR_RETURN(predicted, problem.predict_around(train));
    }
    const std::vector<int32_t> kept = problem.choose_kept(train, predicted);
    const GrownTree grown = problem.grow_on(train, restricted(predicted, kept), kept);
    const std::vector<Sample> judged =
        measured_samples(problem.table, problem.costs, left_out, kept, problem.vocabulary.features);
    for (size_t p = 0; p < by_price.size(); ++p) {
      const GrownTree pruned = prune(grown, kPricesMicro[p], problem.options.max_leaves);
      for (const Sample& sample : judged) {
        by_price[p].push_back({cost_of(sample, leaf_of(pruned, sample.features)), sample.weight_permille});
      }
    }
  }
  return choose_price(by_price);
}

}  // namespace kaon::heuristics
