#ifndef MUSTER_TOOLKITS_DEVICE_H_
#define MUSTER_TOOLKITS_DEVICE_H_

#include "muster/cxx17.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "muster/job.h"
#include "muster/log.h"

// What a job computes on and communicates with. Nothing here waits for another rank; from any
// thread.
//
// The backend of a job is the one that its helpers connect its ranks with, and that a Communicator
// with default options takes: what Initialize() was told (muster/toolkits/current_job.h), else
// MUSTER_BACKEND, else the best one that is linked and usable here.
namespace muster {
namespace toolkits {

// The backends that this program links, the best one first: "nccl", "gloo".
std::vector<std::string> AvailableBackends();

// The job's backend; empty in serial mode. NOT_FOUND: the one that is named is not linked, listing
// those that are; or none is. FAILED_PRECONDITION: it cannot be used here, and why.
absl::StatusOr<std::string> BackendOf(const Job& job);

// "cuda:3", the GPU that NCCL takes: the only one that this process sees, else the one at its local
// rank. "cpu" in serial mode, with other backends, and where no data plane is linked or usable.
// FAILED_PRECONDITION where there are GPUs, but too few for the local rank; errors of BackendOf()
// where a backend is named.
absl::StatusOr<std::string> DeviceOf(const Job& job);

// The same for a process that need not have joined yet: of the current job if there is one
// (muster/toolkits/current_job.h), else for the local rank that the environment or SetLocalRank()
// says, or 0.
absl::StatusOr<std::string> InferDevice();

// How the processes work together: "serial", or "muster" and the backend: "muster-nccl",
// "muster-gloo"; "muster" alone where BackendOf() has an error.
std::string CommunicationModel(const Job& job);

// Logs, in one line, the communication model, the backend and the device, the host's name, world
// size, rank, local rank, processes per node, number of nodes and node rank. See muster/log.h for
// which levels show.
void ShowConfig(const Job& job, LogLevel level = LogLevel::kInfo);

// MiB of GPU memory that this process has in use, on all its GPUs, as the driver says. 0 without a
// GPU, before the process has used one, and in programs that do not link //client/nccl. Where the
// driver does not know the process by its pid, as in most containers: what is in use of the current
// GPU, by whatever process.
int64_t GpuMemUsage();

}  // namespace toolkits
}  // namespace muster

#endif  // MUSTER_TOOLKITS_DEVICE_H_
