#ifndef MUSTER_CLIENT_LAUNCH_PLACED_PROCESS_H_
#define MUSTER_CLIENT_LAUNCH_PLACED_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/host_port.h"

namespace muster::internal {

// Where the processes of one machine stand in their job.
struct JobPlaces {
  int nproc_per_node = 1;
  int nnodes = 1;
  int node_rank = 0;
  std::string job;
  cli::HostPort coordinator;

  int world_size() const { return nnodes * nproc_per_node; }
  int GlobalRank(int local_rank) const { return node_rank * nproc_per_node + local_rank; }
};

struct ForkedProcess {
  pid_t pid = -1;
  std::string incarnation;  // 16 bytes; it joins under that name
  int report_fd = -1;       // see TakeReport()
};

// Forks a process that leads a process group of its own, reads /dev/null, is killed when this
// process ends, finds its place in its environment, calls `body`, and ends with status 0, or 1 if
// that returns an error or throws. `own_fds` are closed in it. RESOURCE_EXHAUSTED and the like if
// the system has no more processes.
absl::StatusOr<ForkedProcess> ForkPlaced(const JobPlaces& places, int local_rank,
                                         const std::vector<int>& own_fds,
                                         const std::function<absl::Status()>& body);

// What `body` has returned, once the process has ended; nullopt if it did not return. Closes the
// descriptor.
std::optional<absl::Status> TakeReport(int report_fd);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_LAUNCH_PLACED_PROCESS_H_
