#ifndef MUSTER_SERVER_JOURNAL_STAND_INS_H_
#define MUSTER_SERVER_JOURNAL_STAND_INS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/journal/kept_request.h"

namespace muster::journal {

// What a replay puts in the place of payloads, which a journal does not have: equal ones in the
// place of equal payloads, others in that of others, of the same sizes. They take as much memory as
// the payloads did in the daemon, for as long as the core keeps them.
class StandIns {
 public:
  // A payload that is larger than `max_bytes` is no payload.
  explicit StandIns(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // RESOURCE_EXHAUSTED: it is too large.
  absl::StatusOr<std::string> For(const PayloadMark& mark);

 private:
  const uint64_t max_bytes_;
  // Of sizes that have no room for a fingerprint: all that there were, by number.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> small_;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_STAND_INS_H_
