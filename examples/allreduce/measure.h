#ifndef MUSTER_EXAMPLES_ALLREDUCE_MEASURE_H_
#define MUSTER_EXAMPLES_ALLREDUCE_MEASURE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "examples/allreduce/plane.h"
#include "examples/allreduce/work.h"
#include "muster/job.h"

namespace allreduce {

struct Repetitions {
  int warmup = 0;
  int iterations = 1;
  bool check = true;
};

struct Measurement {
  double microseconds = 0;       // of one operation: the mean of iterations and of ranks
  std::optional<int64_t> wrong;  // elements that were not what they should be, on all ranks
};

// Does `work` on every rank. A collective of the job; the same measurement on all ranks.
absl::StatusOr<Measurement> Measure(const muster::Job& job, Plane& plane, const Work& work,
                                    const Repetitions& repetitions);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_MEASURE_H_
