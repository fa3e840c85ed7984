#include <cuda_runtime_api.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"
#include "tests/util/process/wait_until.h"

namespace muster::gpu {
namespace {

// The first rounds may allocate for good: libraries load kernels and open devices at first use.
constexpr int kWarmUpRounds = 5;
constexpr absl::Duration kSettleTime = absl::Seconds(10);

struct ResourceUsage {
  int64_t device_bytes = 0;  // of the whole GPU
  int64_t threads = 0;
  int64_t files = 0;
};

// A leak in each round would be far more than this after all rounds.
constexpr ResourceUsage kTolerance = {int64_t{16} << 20, 4, 4};

int64_t EntriesOf(const char* folder) {
  std::error_code error;
  return std::distance(std::filesystem::directory_iterator(folder, error),
                       std::filesystem::directory_iterator());
}

absl::StatusOr<ResourceUsage> CurrentUsage() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  RETURN_IF_ERROR(CudaStatus(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo"));
  return ResourceUsage{static_cast<int64_t>(total_bytes - free_bytes), EntriesOf("/proc/self/task"),
                       EntriesOf("/proc/self/fd")};
}

bool Within(const ResourceUsage& now, const ResourceUsage& before) {
  return now.device_bytes - before.device_bytes <= kTolerance.device_bytes &&
         now.threads - before.threads <= kTolerance.threads &&
         now.files - before.files <= kTolerance.files;
}

// Returns what is held at the end. Waits a moment for threads that were told to end.
absl::StatusOr<ResourceUsage> Settled(const ResourceUsage& before) {
  absl::StatusOr<ResourceUsage> held;
  const auto settled = [&] {
    held = CurrentUsage();
    return !held.ok() || Within(*held, before);
  };
  testing::WaitUntil(settled, kSettleTime);
  return held;
}

std::string Growth(const ResourceUsage& before, const ResourceUsage& after) {
  return absl::StrFormat("device memory %+.1f MiB, threads %+d, open files %+d",
                         static_cast<double>(after.device_bytes - before.device_bytes) / (1 << 20),
                         after.threads - before.threads, after.files - before.files);
}

absl::Status Round(const Job& job, cudaStream_t stream) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  return CheckAllReduce(**comm, 1, stream, "all-reduce");
}

}  // namespace

absl::Status CheckChurn(Job& job, const RankFlags& flags) {
  const auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  for (int i = 0; i < kWarmUpRounds; ++i) RETURN_IF_ERROR(Round(job, stream->get()));
  RETURN_IF_ERROR(job.Barrier("warm"));
  const absl::StatusOr<ResourceUsage> before = CurrentUsage();
  if (!before.ok()) return before.status();
  RETURN_IF_ERROR(job.Barrier("counted"));

  const absl::Time start = absl::Now();
  for (int i = 0; i < flags.rounds; ++i) RETURN_IF_ERROR(Round(job, stream->get()));
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  RETURN_IF_ERROR(job.Barrier("done"));

  const absl::StatusOr<ResourceUsage> after = Settled(*before);
  if (!after.ok()) return after.status();
  RETURN_IF_ERROR(job.Barrier("counted again"));
  const std::string growth =
      absl::StrCat("after ", flags.rounds, " rounds: ", Growth(*before, *after));
  if (!Within(*after, *before)) return absl::InternalError(growth);
  if (job.is_main()) {
    std::cout << growth << absl::StrFormat("; %.1f ms a round", seconds * 1e3 / flags.rounds)
              << std::endl;
  }
  return absl::OkStatus();
}

}  // namespace muster::gpu
