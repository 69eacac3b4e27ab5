// Figures of merit as JSON and as text.
#include "heuristics/report.h"

#include <limits>

#include "heuristics/json_writer.h"
#include "heuristics/source_writer.h"

namespace kaon::heuristics {
namespace {

double or_null(const Score& score, double value) {
  return score.shapes > 0 ? value : std::numeric_limits<double>::quiet_NaN();
}

void write_score(JsonWriter& json, const char* key, const Score& score) {
  json.key(key).begin_object().key("shapes").value(score.shapes).key("unscored").value(score.unscored);
  json.key("geomean_of_oracle").value(or_null(score, score.geomean));
  json.key("worst_of_oracle").value(or_null(score, score.worst)).end_object();
}

// Held-out figures where there are any, else fitted ones, and which.
const Score& judged(const Score (&scores)[2]) { return scores[1].shapes > 0 ? scores[1] : scores[0]; }

void write_rival(JsonWriter& json, const char* key, const Score (&scores)[2]) {
  json.line(3).key(key).begin_object().key("geomean_of_oracle").value(or_null(judged(scores), judged(scores).geomean));
  json.key("worst_of_oracle").value(or_null(judged(scores), judged(scores).worst));
  json.key("over").value(scores[1].shapes > 0 ? "held_out" : "train");
  json.key("train_geomean_of_oracle").value(or_null(scores[0], scores[0].geomean)).end_object();
}

void write_flips(JsonWriter& json, const char* key, const Flips& flips) {
  json.key(key).begin_object().key("shapes").value(flips.shapes).key("any").value(flips.any);
  json.key("beyond_noise").value(flips.beyond_noise).end_object();
}

void write_dtype(JsonWriter& json, const Table& table, const DistilledTable& distilled) {
  int fitted = 0, held_out = 0;
  for (const Shape& shape : table.shapes) ++(shape.role == Role::kHeldOut ? held_out : fitted);
  json.line(2).key(distilled.dtypes.empty() ? "none" : distilled.dtypes).begin_object();
  json.line(3).key("shapes").value(fitted + held_out).key("configs").value(table.num_configs());
  json.key("variants").value(static_cast<int64_t>(distilled.variants.size()));
  json.key("leaves").value(static_cast<int64_t>(distilled.tree.leaves.size()));
  json.line(3);
  write_score(json, "held_out", distilled.tree_score[1]);
  json.line(3);
  write_score(json, "train", distilled.tree_score[0]);
  write_rival(json, "subset_oracle", distilled.subset_score);
  write_rival(json, "single_config", distilled.single_score);
  write_rival(json, "default_config", distilled.default_score);
  json.line(3).key("ablation").begin_object().key("teacher").value(distilled.with_teacher ? "used" : "left out");
  json.key("note").value(distilled.teacher_note);
  json.line(4);
  write_score(json, "with_teacher", distilled.with_teacher_score[1]);
  json.line(4);
  write_score(json, "without_teacher", distilled.without_teacher_score[1]);
  json.end_object().line(3).key("winner_flips").begin_object();
  write_flips(json, "train", distilled.flips[0]);
  write_flips(json, "held_out", distilled.flips[1]);
  json.end_object().line(3).key("served").begin_array();
  for (const VariantEvidence& evidence : distilled.variants) {
    json.line(4).begin_object().key("config").raw(table.configs[evidence.config].variant.config.to_json());
    json.key("shapes_served").value(evidence.shapes_served).key("shapes_best").value(evidence.shapes_best);
    json.key("geomean_slowdown").value(evidence.geomean_slowdown);
    json.key("worst_slowdown").value(evidence.worst_slowdown).end_object();
  }
  json.end_array().line(3).key("pruned_features").begin_array();
  for (const PrunedFeature& pruned : distilled.pruned) json.value(pruned.name + ": " + pruned.reason);
  json.end_array().end_object();
}

std::string share(const Score& score) {
  return score.shapes > 0 ? fixed(score.geomean, 3) + " (" + fixed(score.worst, 3) + ")" : "-";
}

}  // namespace

std::string write_report(const Measurements& measurements, const Distilled& distilled, const ReportFacts& facts) {
  JsonWriter json;
  json.begin_object().line(1).key("kernel").value(measurements.kernel);
  json.key("hardware").value(measurements.device.hardware);
  json.line(1).key("device").value(measurements.device.name).key("driver").value(measurements.device.driver);
  json.key("date").value(facts.date);
  json.line(1).key("noise_floor").value(measurements.noise_floor_permille / 1000.0);
  json.key("noise_floor_ns").value(measurements.noise_floor_ns);
  json.key("empty_graph_us").value(static_cast<double>(measurements.empty_graph_ns) / 1000);
  json.key("seconds").value(measurements.seconds).key("bytes").value(facts.pack_bytes);
  json.line(1)
      .key("out_of_range")
      .value(
          "a call outside the measured range of a dim takes the nearest leaf and is "
          "answered as out_of_range");
  json.line(1).key("dtypes").begin_object();
  for (const DistilledTable& table : distilled.tables) write_dtype(json, measurements.tables[table.table], table);
  json.line(1).end_object().line().end_object();
  return json.text() + "\n";
}

std::string summary_text(const Measurements& measurements, const Distilled& distilled) {
  std::string text;
  for (const DistilledTable& table : distilled.tables) {
    const Table& measured = measurements.tables[table.table];
    text += measurements.kernel + (table.dtypes.empty() ? "" : " " + table.dtypes) + " on " +
            measurements.device.hardware + ": " + std::to_string(table.variants.size()) + " of " +
            std::to_string(measured.num_configs()) + " configs, " + std::to_string(table.tree.leaves.size()) +
            (table.tree.leaves.size() == 1 ? " leaf" : " leaves") + "; teacher " + table.teacher_note + "\n";
    std::vector<std::vector<std::string>> rows = {
        {"config", "serves", "ties or wins", "measured", "slowdown", "worst"}};
    for (const VariantEvidence& evidence : table.variants) {
      rows.push_back({measured.configs[evidence.config].variant.config.to_text(),
                      std::to_string(evidence.shapes_served), std::to_string(evidence.shapes_best),
                      std::to_string(evidence.shapes_measured), fixed(evidence.geomean_slowdown, 3),
                      fixed(evidence.worst_slowdown, 3)});
    }
    text += aligned_table(rows);
    rows = {{"share of the oracle, geomean (worst)", "fitted", "held out"}};
    const std::pair<const char*, const Score(*)[2]> lines[] = {{"tree", &table.tree_score},
                                                               {"best kept variant per shape", &table.subset_score},
                                                               {"best single config", &table.single_score},
                                                               {"default config", &table.default_score},
                                                               {"tree without teacher", &table.without_teacher_score},
                                                               {"tree with teacher", &table.with_teacher_score}};
    for (const auto& [name, scores] : lines) rows.push_back({name, share((*scores)[0]), share((*scores)[1])});
    text += aligned_table(rows);
  }
  return text;
}

}  // namespace kaon::heuristics
