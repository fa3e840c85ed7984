#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_RAS_CLIENT_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_RAS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::observe {

// The default address of NCCL's RAS. The first process on a node that uses NCCL 2.24 or later
// listens there (NCCL_RAS_ADDR).
inline constexpr char kRasHost[] = "127.0.0.1";
inline constexpr uint16_t kRasPort = 28028;

struct RasReport {
  bool json = false;  // from NCCL 2.28 on; else plain text
  std::string text;
};

// Returns the report of NCCL's RAS subsystem about the communicators of the job: which ranks are
// missing, and which operation counts differ. Blocks for at most `timeout`. Returns UNAVAILABLE if
// nothing listens, for example because the job does not use NCCL, DEADLINE_EXCEEDED after
// `timeout`, and UNKNOWN if the peer is not NCCL.
absl::StatusOr<RasReport> QueryRas(const std::string& host, uint16_t port, absl::Duration timeout,
                                   size_t max_bytes);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_RAS_CLIENT_H_
