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
};

// Returns the identity of this process's next Job. The first one has the process's start time, and
// the secret of `options` if there is one. Each later one is a new incarnation that starts now.
Identity NextIdentity(const JobOptions& options);

std::string Hostname();

// Returns an id that all processes on one kernel share, in containers too. Empty if it cannot be
// read.
std::string BootId();

// Returns host name and boot id. They differ for hosts with the same name, and for containers that
// share a kernel.
std::string DefaultNodeId();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_
