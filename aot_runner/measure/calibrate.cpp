// The noise floor and the copy bandwidth of a device.
#include "aot_runner/measure/calibrate.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "aot_runner/measure/statistics.h"
#include "aot_runner/measure/timing.h"

namespace kaon::runner {
namespace {

constexpr int64_t kLongBytes = 16 << 20;  // transfers whose noise is a share of their time

}  // namespace

Result<double> measure_empty(Device& device) {
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<Replay> empty, device.make_empty_replay());
  MeasureOptions options;
  options.max_seconds = 0.2;
  options.min_samples = 15;
  KAON_ASSIGN_OR_RETURN(const RoundsResult result, time_in_rounds(device, {{empty.get(), false}}, options));
  return result.timings[0].median_us;
}

Result<Calibration> calibrate(Device& device) {
  Calibration calibration;
  KAON_ASSIGN_OR_RETURN(calibration.empty_us, measure_empty(device));
  const bool is_host = device.facts().hardware == "host";
  const std::vector<int64_t> sizes = is_host
                                         ? std::vector<int64_t>{1 << 20, 1 << 23, 1 << 25}
                                         : std::vector<int64_t>{1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30};
  constexpr int kRepeats = 5;
  MeasureOptions options;
  options.max_seconds = 0.3;
  std::vector<double> differences, relative, absolute_us;
  for (const int64_t bytes : sizes) {
    KAON_ASSIGN_OR_RETURN(std::unique_ptr<Replay> one, device.make_copy_replay(bytes));
    KAON_ASSIGN_OR_RETURN(std::unique_ptr<Replay> other, device.make_copy_replay(bytes));
    std::vector<double> medians;
    for (int i = 0; i < kRepeats; ++i) {
      KAON_ASSIGN_OR_RETURN(const RoundsResult r,
                            time_in_rounds(device, {{one.get(), false}, {other.get(), false}}, options));
      const double a = r.timings[0].median_us, b = r.timings[1].median_us;
      differences.push_back(std::fabs(a - b) / std::min(a, b));
      if (bytes >= kLongBytes) {
        relative.push_back(differences.back());
      } else {
        absolute_us.push_back(std::fabs(a - b));
      }
      medians.push_back(std::min(a, b));
    }
    const double us = median(medians);
    calibration.copy.push_back({static_cast<double>(bytes), us});
    calibration.copy_gb_per_s = std::max(calibration.copy_gb_per_s, static_cast<double>(bytes) / us / 1e3);
  }
  calibration.noise_median = median(differences);
  calibration.noise_p90 = quantile(differences, 0.9);
  calibration.noise_max = quantile(differences, 1.0);
  calibration.noise_relative = quantile(relative, 0.9);
  calibration.noise_absolute_us = quantile(absolute_us, 0.9);
  return calibration;
}

}  // namespace kaon::runner
