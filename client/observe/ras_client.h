#ifndef MUSTER_CLIENT_OBSERVE_RAS_CLIENT_H_
#define MUSTER_CLIENT_OBSERVE_RAS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::observe {

// Where the first process on a node that uses NCCL 2.24 or later answers (NCCL_RAS_ADDR).
inline constexpr char kRasHost[] = "127.0.0.1";
inline constexpr uint16_t kRasPort = 28028;

struct RasReport {
  bool json = false;  // NCCL 2.28 and later; else text
  std::string text;
};

// What NCCL's RAS subsystem says of the state of all communicators of the job: which ranks are
// missing, and whose operation counts differ. Blocks for `timeout` at most. UNAVAILABLE: nobody
// listens there, as where the job does not use NCCL. DEADLINE_EXCEEDED. UNKNOWN: what answers is
// not NCCL.
absl::StatusOr<RasReport> AskRas(const std::string& host, uint16_t port, absl::Duration timeout,
                                 size_t max_bytes);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_RAS_CLIENT_H_
