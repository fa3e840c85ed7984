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

// The result for one size.
struct Measurement {
  double microseconds = 0;       // for one operation: the mean over iterations and ranks
  std::optional<int64_t> wrong;  // wrong elements on all ranks; empty if not checked
};

// Runs and times `work` on every rank. A collective of the job. Returns the same measurement on all
// ranks.
absl::StatusOr<Measurement> Measure(const muster::Job& job, Plane& plane, const Work& work,
                                    const Repetitions& repetitions);

}  // namespace allreduce

#endif  // MUSTER_EXAMPLES_ALLREDUCE_MEASURE_H_
