#ifndef MUSTER_TOOLKITS_DEVICE_H_
#define MUSTER_TOOLKITS_DEVICE_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/job.h"
#include "muster/log.h"

// The devices and the data plane of a job:
//
//   absl::StatusOr<std::string> device = muster::toolkits::DeviceOf(job);  // "cuda:3" or "cpu"
//   if (!device.ok()) return device.status();
//   muster::toolkits::ShowConfig(job);
//
// The backend of a job is the data plane that its helpers, and Communicators with default options,
// connect the ranks with: the argument of Initialize() (muster/toolkits/current_job.h), or else
// MUSTER_BACKEND, or else the best one that is linked and usable. No function here waits for
// another rank. Thread-safe.
namespace muster {
namespace toolkits {

// Returns the backends that this program links, the best one first: "nccl", "gloo".
std::vector<std::string> AvailableBackends();

// Returns the job's backend; empty in serial mode. NOT_FOUND: the named backend is not linked
// (lists the linked ones), or no backend is. FAILED_PRECONDITION: it is not usable here; says why.
absl::StatusOr<std::string> BackendOf(const Job& job);

// Returns the device that NCCL uses, "cuda:3": the only GPU that this process sees, or else the GPU
// at its local rank. Returns "cpu" in serial mode, with other backends, and if no backend is linked
// or usable. FAILED_PRECONDITION: there are fewer GPUs than local ranks. If a backend is named,
// also the errors of BackendOf().
absl::StatusOr<std::string> DeviceOf(const Job& job);

// Returns the device for the current job (muster/toolkits/current_job.h). Before joining, returns
// the device for the local rank of the environment or of SetLocalRank(), or for 0.
absl::StatusOr<std::string> InferDevice();

// Returns how the processes communicate: "serial", "muster-nccl" or "muster-gloo"; "muster" if
// BackendOf() returns an error.
std::string CommunicationModel(const Job& job);

// Logs one line with the communication model, the backend, the device, the host name, the world
// size, the rank, the local rank, the processes per node, the number of nodes and the node rank.
// See muster/log.h for the levels that are shown.
void ShowConfig(const Job& job, LogLevel level = LogLevel::kInfo);

// Returns the GPU memory that this process uses on all its GPUs, in MiB, as the driver reports it.
// Returns 0 without a GPU, before the process has used one, and in programs that do not link
// //client/nccl. In most containers the driver does not know the process by its pid; then it
// returns the memory that all processes use on the current GPU.
int64_t GpuMemUsage();

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_DEVICE_H_
