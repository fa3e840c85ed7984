#ifndef MUSTER_SERVER_JOURNAL_RECORDS_SYNTHETIC_PAYLOADS_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_SYNTHETIC_PAYLOADS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/journal/records/kept_request.h"

namespace muster::journal {

// The payloads of a replay, made up because a journal does not contain them. Equal payloads get
// equal synthetic ones, and different payloads different ones, of the same sizes. They take as much
// memory as the payloads took in the daemon, as long as the core keeps them.
class SyntheticPayloads {
 public:
  // Rejects payloads of more than `max_bytes`: a damaged journal may claim any size.
  explicit SyntheticPayloads(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Returns the synthetic payload. RESOURCE_EXHAUSTED: the payload is too large.
  absl::StatusOr<std::string> For(const PayloadSummary& summary);

 private:
  const uint64_t max_bytes_;
  // Payloads that are too short for a fingerprint, by size and fingerprint, with consecutive
  // numbers.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> small_;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_SYNTHETIC_PAYLOADS_H_
