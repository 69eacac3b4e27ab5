// Medians and what they are worth.
#pragma once

#include <vector>

namespace kaon::runner {

/// Middle value, or the mean of the two middle ones; 0 for none.
double median(std::vector<double> values);

struct Spread {
  double median = 0;
  double mad = 0;  // median absolute deviation from the median
  double min = 0;
  double median_error = 0;  // standard error of the median, relative to it; infinite below two samples
};
/// `median_error` takes the samples for normal with the MAD's deviation (1.4826 MAD), whose median has 1.2533 times the
/// error of a mean.
Spread spread(const std::vector<double>& samples);

/// Value below which `fraction` of the values lie, by the nearest rank; 0 for none.
double quantile(std::vector<double> values, double fraction);

}  // namespace kaon::runner
