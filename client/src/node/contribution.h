#ifndef MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_
#define MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::internal {

// One member's arrival at a collective: everything that another member needs to send it to the
// daemon.
struct Contribution {
  uint64_t sequence = 0;
  // The call, encoded so that equal calls have equal bytes. Only arrivals with equal bytes go into
  // one batch.
  std::string call;
  // The session and the attempt under which the arrival counts.
  uint64_t daemon_instance = 0;
  uint64_t session_counter = 0;
  uint64_t session_key = 0;
  uint64_t attempt = 0;
  int64_t wait_nanos = 0;  // how long the daemon may wait with this arrival
  // Whether the sender may complete the collective itself with this part (R16), and whether the
  // member knows of a stop request (R20): 0 or 1.
  uint8_t may_commit = 0;
  uint8_t stop_asked = 0;
  int64_t posted_at = 0;  // monotonic nanoseconds, for statistics
  std::string call_site;
  std::string payload;

  // Returns whether both arrivals may go into one batch.
  bool CanShareBatchWith(const Contribution& other) const {
    return sequence == other.sequence && daemon_instance == other.daemon_instance &&
           call == other.call;
  }
};

// Encodes a contribution for other processes of this machine, and decodes it. The decoder returns
// nullopt for bytes that the encoder cannot have written.
std::string EncodeContribution(const Contribution& contribution);
std::optional<Contribution> DecodeContribution(absl::string_view bytes);

// The answer to a collective, as the sender of the batch publishes it.
struct Result {
  uint64_t sequence = 0;
  std::string answer;  // opaque to this room
  // 1 if the sender has completed the collective itself (FanInSlots::Commit), otherwise 0.
  uint8_t on_node = 0;
};

std::string EncodeResult(const Result& result);
std::optional<Result> DecodeResult(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_
