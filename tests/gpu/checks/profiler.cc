// Checks what NCCL reports to the plug-in about a communicator's work.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/memory/activity_reader.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"
#include "tests/util/process/wait_until.h"

namespace muster::gpu {
namespace {

constexpr uint64_t kOperations = 20;
constexpr size_t kCount = 1000;

// Returns the activity that the plug-in has published of NCCL's communicator, or an empty one.
CommunicatorActivity NcclActivity(const ActivityReader& activity) {
  for (const CommunicatorActivity& one : activity.Read()) {
    if (absl::StartsWith(one.name, "NCCL communicator ")) return one;
  }
  return {};
}

}  // namespace

absl::Status CheckProfiler(Job& job, const RankFlags& flags) {
  const absl::StatusOr<std::unique_ptr<ActivityReader>> activity = ActivityReader::Make();
  if (!activity.ok()) return activity.status();
  setenv("MUSTER_ACTIVITY_FILE", (*activity)->path().c_str(), 1);
  setenv("NCCL_PROFILER_PLUGIN", flags.profiler_plugin.c_str(), 1);
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  const auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  for (uint64_t i = 0; i < kOperations; ++i) {
    RETURN_IF_ERROR(CheckAllReduce(**comm, kCount, stream->get(), "a watched all-reduce"));
  }
  // One of NCCL's threads reports what the GPU has done.
  CommunicatorActivity seen;
  const bool done = testing::WaitUntil([&] {
    seen = NcclActivity(**activity);
    return seen.begun >= kOperations && seen.ended == seen.begun;
  });
  if (done && seen.operation == "AllReduce") return absl::OkStatus();
  return absl::InternalError(absl::StrCat("after ", kOperations, " all-reduces '", seen.name,
                                          "' has begun ", seen.begun, " and ended ", seen.ended,
                                          " operations, the latest '", seen.operation, "'"));
}

}  // namespace muster::gpu
