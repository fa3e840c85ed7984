#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_

#include <cstdint>
#include <string>

#include "muster/job_options.h"

namespace muster::internal {

// Who this process is, as one Job of it tells the coordinator.
struct Identity {
  std::string secret;       // 16 bytes, which prove that a caller is this process
  std::string incarnation;  // made of the secret; names the process to others
  int64_t start_time_micros = 0;
  std::string node_id;
  std::string hostname;
  int64_t pid = 0;
};

// The identity of the next Job of this process. The first one has the secret of `options`, if there
// is one, and the process's start time; later ones are incarnations of their own that start
// now.
Identity NextIdentity(const JobOptions& options);

std::string Hostname();

// The same for all processes that run on one kernel, containers' too. Empty where it cannot be
// read.
std::string BootId();

// Host name and boot id: different on hosts that have the same name, and on containers that share a
// kernel.
std::string DefaultNodeId();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_IDENTITY_H_
