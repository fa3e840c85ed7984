#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"

namespace muster::gpu {
namespace {

constexpr absl::Duration kErrorLimit = absl::Seconds(5);
constexpr int kLaunches = 8;  // the loss comes while some are running

std::string TimeFile(const RankFlags& flags) { return flags.scratch + "/killed-at"; }

[[noreturn]] void Die(const RankFlags& flags) {
  std::ofstream(TimeFile(flags)) << absl::ToUnixNanos(absl::Now()) << std::flush;
  kill(getpid(), SIGKILL);
  while (true) pause();
}

absl::StatusOr<absl::Time> TimeOfLoss(const RankFlags& flags) {
  int64_t nanoseconds = 0;
  if (std::ifstream(TimeFile(flags)) >> nanoseconds) return absl::FromUnixNanos(nanoseconds);
  return absl::InternalError("an operation ended before the last rank was killed");
}

// Runs all-reduces in which the last rank dies, and returns the error that ends them.
absl::Status AllReduceUntilLoss(Job& job, NcclCommunicator& comm, const DeviceArray<float>& data,
                                cudaStream_t stream, const RankFlags& flags) {
  const bool dies = job.rank() == job.world_size() - 1;
  absl::Status status;
  for (int i = 0; status.ok() && i < kLaunches + (dies ? 0 : 1); ++i) {
    status = comm.AllReduce(data.data(), data.data(), data.size(), DataType::kFloat32,
                            ReduceOp::kMax, stream);
  }
  if (dies) Die(flags);
  return status.ok() ? comm.Wait(stream) : status;
}

absl::Status ExpectNamedLoss(const absl::Status& error, const Job& job) {
  const std::string lost = absl::StrCat("rank ", job.world_size() - 1);
  if (absl::IsAborted(error) && absl::StrContains(error.message(), lost)) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("expected ABORTED with '", lost, "' in it, got: ", error.ToString()));
}

absl::Status ExpectSoon(absl::Duration after, const RankFlags& flags) {
  if (!flags.judge || after <= kErrorLimit) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the error came ", absl::FormatDuration(after),
                                          " after the loss; the limit is ",
                                          absl::FormatDuration(kErrorLimit)));
}

absl::Status ContinueWithoutLostRank(const RankFlags& flags, int survivors) {
  JobOptions options;
  options.coordinator = flags.second_coordinator;
  options.world_size = survivors;
  const absl::StatusOr<std::unique_ptr<Job>> job = Job::Join(options);
  if (!job.ok()) return job.status();
  {
    const auto comm = NcclCommunicator::Create(**job);
    if (!comm.ok()) return comm.status();
    const auto stream = Stream::Make();
    if (!stream.ok()) return stream.status();
    RETURN_IF_ERROR(CheckAllReduce(**comm, 1000, stream->get(), "all-reduce of the survivors"));
  }
  return (*job)->Leave();
}

// Kills the last rank, and returns how long after the loss the error came.
absl::StatusOr<absl::Duration> LoseLastRank(Job& job, const RankFlags& flags) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  const auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  RETURN_IF_ERROR(CheckAllReduce(**comm, 1000, stream->get(), "all-reduce before the loss"));
  const auto data = DeviceArray<float>::Of(std::vector<float>(flags.max_bytes / sizeof(float)));
  if (!data.ok()) return data.status();
  RETURN_IF_ERROR(job.Barrier("before the loss"));

  const absl::Status error = AllReduceUntilLoss(job, **comm, *data, stream->get(), flags);
  const absl::Time now = absl::Now();
  RETURN_IF_ERROR(ExpectNamedLoss(error, job));
  RETURN_IF_ERROR(ExpectNamedLoss((*comm)->health(), job));
  RETURN_IF_ERROR(ExpectNamedLoss(CheckAllReduce(**comm, 1, stream->get(), "a later one"), job));
  const absl::StatusOr<absl::Time> lost = TimeOfLoss(flags);
  if (!lost.ok()) return lost.status();
  return now - *lost;
}

}  // namespace

absl::Status CheckLoss(Job& job, const RankFlags& flags) {
  const absl::StatusOr<absl::Duration> after = LoseLastRank(job, flags);
  if (!after.ok()) return after.status();
  std::cout << absl::StrFormat("rank %d: the error came %.3f s after the SIGKILL", job.rank(),
                               absl::ToDoubleSeconds(*after))
            << std::endl;
  RETURN_IF_ERROR(ExpectSoon(*after, flags));
  return ContinueWithoutLostRank(flags, job.world_size() - 1);
}

}  // namespace muster::gpu
