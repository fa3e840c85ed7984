// Measures how fast the ranks of a Muster job run a collective. Read this file first, then
// measure.cc, then host_plane.cc and device_plane.cc for the two ways to call a collective.

#include <iostream>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/allreduce/flags.h"
#include "examples/allreduce/measure.h"
#include "examples/allreduce/plane.h"
#include "examples/allreduce/table.h"
#include "muster/job.h"

namespace allreduce {
namespace {

int Fail(const absl::Status& error) {
  std::cerr << "allreduce: " << error.message() << std::endl;
  return 1;
}

struct Totals {
  int rows = 0;
  double bus_bandwidth = 0;
  int64_t wrong = 0;
};

std::vector<uint64_t> Sizes(const Flags& flags) {
  std::vector<uint64_t> sizes = {flags.min_bytes};
  while (sizes.back() <= flags.max_bytes / flags.step_factor) {
    sizes.push_back(sizes.back() * flags.step_factor);
  }
  return sizes;
}

absl::StatusOr<Totals> MeasureSizes(const muster::Job& job, Plane& plane, const Flags& flags) {
  const Repetitions repetitions = {flags.warmup, flags.iterations, flags.check};
  const Work kind = {flags.collective, flags.type, flags.op, 0, job.world_size()};
  Totals totals;
  for (uint64_t bytes : Sizes(flags)) {
    const Work work = WorkOfBytes(kind, bytes);
    const absl::StatusOr<Measurement> measured = Measure(job, plane, work, repetitions);
    if (!measured.ok()) return measured.status();
    if (job.is_main()) PrintRow(work, *measured);
    ++totals.rows;
    totals.bus_bandwidth += BusBandwidth(work, *measured);
    totals.wrong += measured->wrong.value_or(0);
  }
  return totals;
}

absl::StatusOr<Totals> Run(muster::Job& job, const Flags& flags) {
  if (flags.collective == Collective::kSendRecv && job.world_size() < 2) {
    return absl::InvalidArgumentError("sendrecv needs two ranks or more; this job has one");
  }
  absl::StatusOr<std::unique_ptr<Plane>> plane = MakePlane(job, flags.backend);
  if (!plane.ok()) return plane.status();
  if (job.is_main()) PrintHead(job, **plane, flags);
  return MeasureSizes(job, **plane, flags);
}

int RunAndLeave(muster::Job& job, const Flags& flags) {
  const absl::StatusOr<Totals> totals = Run(job, flags);
  if (!totals.ok()) return Fail(totals.status());
  if (job.is_main()) PrintSummary(totals->bus_bandwidth / totals->rows, totals->wrong);
  const absl::Status left = job.Leave();
  if (!left.ok()) return Fail(left);
  return totals->wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace allreduce

int main(int argc, char** argv) {
  allreduce::Flags flags;
  if (const std::optional<int> status = allreduce::ParseFlags(argc, argv, &flags)) return *status;
  // Blocks until every member of the job has joined.
  absl::StatusOr<std::unique_ptr<muster::Job>> job =
      muster::Job::Join(muster::JobOptions::FromEnvironment());
  if (!job.ok()) return allreduce::Fail(job.status());
  return allreduce::RunAndLeave(**job, flags);
}
