#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_

#include <cstdint>
#include <string>

#include "muster/job_options.h"

namespace muster::internal {

// The identity of this process, as one of its Jobs tells the coordinator.
struct Identity {
  std::string secret;       // 16 bytes, which prove that a caller is this process
  std::string incarnation;  // a hash of the secret; names the process to others
  int64_t start_time_micros = 0;
  std::string node_id;
  std::string hostname;
  int64_t pid = 0;
  std::string cpus = {};  // BoundCpus(), for `muster status`
};

// Returns the identity of this process's next Job. The first one has the process's start time, and
// the secret of `options` if there is one. Each later one is a new incarnation that starts now.
Identity NextIdentity(const JobOptions& options);

std::string Hostname();

// Returns the CPUs on which this process may run, "0-3,8", if `muster run --bind-to` has bound it:
// then MUSTER_BIND_TO is set. Else, and if the kernel does not say, returns "". Reads the main
// thread's, which programs leave as they find it more often than other threads'.
std::string BoundCpus();

// Returns an id that all processes on one kernel share, in containers too. Empty if it cannot be
// read.
std::string BootId();

// Returns host name and boot id. They differ for hosts with the same name, and for containers that
// share a kernel.
std::string DefaultNodeId();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_
