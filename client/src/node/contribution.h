#ifndef MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_
#define MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::internal {

// What one member brings to a collective: as much as another one needs to send it along.
struct Contribution {
  uint64_t sequence = 0;
  // The call, in bytes that are the same for all who call the same: only those are sent together.
  std::string call;
  // Under which session and attempt it counts.
  uint64_t daemon_instance = 0;
  uint64_t session_counter = 0;
  uint64_t session_key = 0;
  uint64_t attempt = 0;
  int64_t wait_nanos = 0;  // how long the daemon may count on it
  std::string call_site;
  std::string payload;

  // Whether one call may carry both.
  bool MeetsWith(const Contribution& other) const {
    return sequence == other.sequence && daemon_instance == other.daemon_instance &&
           call == other.call;
  }
};

// For other processes of this machine, and back. Nullopt: not what was encoded.
std::string EncodeContribution(const Contribution& contribution);
std::optional<Contribution> DecodeContribution(absl::string_view bytes);

// The answer to a collective, as its sender hands it on.
struct Result {
  uint64_t sequence = 0;
  std::string answer;  // in whatever encoding members agree on
};

std::string EncodeResult(const Result& result);
std::optional<Result> DecodeResult(absl::string_view bytes);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_CONTRIBUTION_H_
