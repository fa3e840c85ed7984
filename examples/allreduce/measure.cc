#include "examples/allreduce/measure.h"

#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "examples/allreduce/values.h"

namespace allreduce {
namespace {

template <class T>
absl::StatusOr<T> SumOverRanks(const muster::Job& job, T value) {
  const absl::StatusOr<std::vector<T>> values = job.AllGather(value);
  if (!values.ok()) return values.status();
  return std::accumulate(values->begin(), values->end(), T());
}

absl::StatusOr<int64_t> Check(const muster::Job& job, Plane& plane, const Work& work) {
  const absl::StatusOr<std::string> output = plane.Output();
  if (!output.ok()) return output.status();
  return SumOverRanks(job, static_cast<int64_t>(CountWrong(work, job.rank(), *output)));
}

// Returns the microseconds that one operation takes on this rank.
absl::StatusOr<double> Time(Plane& plane, int iterations) {
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = plane.Run(iterations);
  if (!status.ok()) return status;
  const std::chrono::duration<double, std::micro> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count() / iterations;
}

}  // namespace

absl::StatusOr<Measurement> Measure(const muster::Job& job, Plane& plane, const Work& work,
                                    const Repetitions& repetitions) {
  absl::Status status = plane.Prepare(work, Input(work, job.rank()));
  if (status.ok()) status = plane.Run(repetitions.warmup);
  if (status.ok()) status = job.Barrier("measure");
  if (!status.ok()) return status;

  const absl::StatusOr<double> time = Time(plane, repetitions.iterations);
  if (!time.ok()) return time.status();
  const absl::StatusOr<double> sum = SumOverRanks(job, *time);
  if (!sum.ok()) return sum.status();

  Measurement measurement;
  measurement.microseconds = *sum / job.world_size();
  if (repetitions.check) {
    const absl::StatusOr<int64_t> wrong = Check(job, plane, work);
    if (!wrong.ok()) return wrong.status();
    measurement.wrong = *wrong;
  }
  return measurement;
}

}  // namespace allreduce
