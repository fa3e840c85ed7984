#ifndef MUSTER_TESTS_BENCH_COMMON_MEDIAN_H_
#define MUSTER_TESTS_BENCH_COMMON_MEDIAN_H_

#include <algorithm>
#include <vector>

namespace muster::testing {

// Returns the median, the upper one of two. `values` must not be empty.
inline double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_MEDIAN_H_
