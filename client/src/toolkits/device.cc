#include "muster/toolkits/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/data_plane/backend_registry.h"
#include "client/src/toolkits/job_communicator.h"
#include "muster/toolkits/current_job.h"

namespace muster::toolkits {
namespace {

using internal::BackendChoice;

constexpr char kCpu[] = "cpu";

absl::StatusOr<std::string> DeviceFor(const std::string& backend, int local_rank) {
  const absl::StatusOr<BackendChoice> choice = internal::ChooseJobBackend(backend);
  if (!choice.ok()) {
    if (internal::IsBackendNamed(backend)) return choice.status();
    return kCpu;
  }
  return choice->kind.device == nullptr ? kCpu : choice->kind.device(local_rank);
}

// Returns a text for the log, which cannot return an error.
std::string TextOf(const absl::StatusOr<std::string>& value) {
  if (!value.ok()) return absl::StrCat("unknown (", internal::CodeAndText(value.status()), ")");
  return value->empty() ? "none" : *value;
}

}  // namespace

std::vector<std::string> AvailableBackends() {
  std::vector<std::string> names;
  for (const internal::BackendKind& kind : internal::RegisteredBackends()) {
    names.push_back(kind.name);
  }
  return names;
}

absl::StatusOr<std::string> BackendOf(const Job& job) {
  if (!job.is_distributed()) return std::string();
  const absl::StatusOr<BackendChoice> choice =
      internal::ChooseJobBackend(internal::JobCommunicator::Of(job)->backend());
  if (!choice.ok()) return choice.status();
  return choice->kind.name;
}

absl::StatusOr<std::string> DeviceOf(const Job& job) {
  if (!job.is_distributed()) return kCpu;
  return DeviceFor(internal::JobCommunicator::Of(job)->backend(), job.local_rank());
}

absl::StatusOr<std::string> InferDevice() {
  const Job& job = CurrentJob();
  return job.is_distributed() ? DeviceOf(job) : DeviceFor("", GetLocalRank().value_or(0));
}

std::string CommunicationModel(const Job& job) {
  if (!job.is_distributed()) return "serial";
  const absl::StatusOr<std::string> backend = BackendOf(job);
  return backend.ok() ? absl::StrCat("muster-", *backend) : "muster";
}

void ShowConfig(const Job& job, LogLevel level) {
  Log(level, absl::StrCat("distributed configuration: ", CommunicationModel(job), ", backend ",
                          TextOf(BackendOf(job)), ", device ", TextOf(DeviceOf(job)), ", hostname ",
                          job.self().hostname, ", world size ", job.world_size(), ", rank ",
                          job.rank(), ", local rank ", job.local_rank(), ", processes per node ",
                          job.local_world_size(), ", number of nodes ", job.num_nodes(),
                          ", node rank ", job.node_rank()));
}

int64_t GpuMemUsage() {
  int64_t bytes = 0;
  for (const internal::BackendKind& kind : internal::RegisteredBackends()) {
    if (kind.device_memory_in_use != nullptr) bytes = std::max(bytes, kind.device_memory_in_use());
  }
  return bytes >> 20;
}

}  // namespace muster::toolkits
