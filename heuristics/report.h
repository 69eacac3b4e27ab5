// report.json and the table that a terminal shows at the end of a run.
#pragma once

#include <cstdint>
#include <string>

#include "heuristics/distill.h"

namespace kaon::heuristics {

struct ReportFacts {
  std::string date;        // of the report
  int64_t pack_bytes = 0;  // the .kpack
};

/// One JSON object: device, driver, date, noise_floor (a share, 0.01), noise_floor_ns (ties are within the larger of both), empty_graph_us, seconds, bytes; and per dtype
/// binding under `dtypes.<key>` ("none" for a kernel without generics): shapes, variants, held_out and train with
/// geomean_of_oracle and worst_of_oracle, subset_oracle, single_config, default_config (each geomean_of_oracle, held
/// out, or fitted where nothing is held out), ablation, winner_flips, pruned features, what each variant serves.
/// A figure over no shapes is null.
std::string write_report(const Measurements& measurements, const Distilled& distilled, const ReportFacts& facts);

/// Per dtype binding: configs x shapes served, then shares of the oracle.
std::string summary_text(const Measurements& measurements, const Distilled& distilled);

}  // namespace kaon::heuristics
