#ifndef MUSTER_TESTS_GPU_CHECKS_STATISTICS_H_
#define MUSTER_TESTS_GPU_CHECKS_STATISTICS_H_

#include <algorithm>
#include <vector>

namespace muster::gpu {

inline double Percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(fraction * static_cast<double>(values.size() - 1))];
}

inline double Median(const std::vector<double>& values) { return Percentile(values, 0.5); }

// Returns values[i] / bases[i].
inline std::vector<double> Ratios(std::vector<double> values, const std::vector<double>& bases) {
  for (size_t i = 0; i < values.size(); ++i) values[i] /= bases[i];
  return values;
}

}  // namespace muster::gpu

#endif  // MUSTER_TESTS_GPU_CHECKS_STATISTICS_H_
