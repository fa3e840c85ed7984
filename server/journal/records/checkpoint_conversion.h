#ifndef MUSTER_SERVER_JOURNAL_RECORDS_CHECKPOINT_CONVERSION_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_CHECKPOINT_CONVERSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/checkpoint.h"
#include "server/journal/journal.pb.h"
#include "server/journal/records/kept_request.h"
#include "server/journal/records/synthetic_payloads.h"

namespace muster::journal {

// A cache of the fingerprints of leases' values. A value may be large and appears in many
// checkpoints in a row, so its fingerprint is made once and kept as long as each checkpoint
// contains the value.
class CachedValueHasher {
 public:
  explicit CachedValueHasher(const PayloadHasher& hasher) : hasher_(hasher) {}
  // Returns the fingerprint of the value.
  uint64_t Hash(const core::Bytes& value);
  // Begins a checkpoint. Forgets values that the previous checkpoint did not contain.
  void BeginCheckpoint();

 private:
  // Weak pointers: if a value is gone, no new value at the same address is taken for it.
  using ByValue = std::map<std::weak_ptr<const std::string>, uint64_t, std::owner_less<>>;

  const PayloadHasher& hasher_;
  ByValue previous_;  // values of the previous checkpoint only
  ByValue latest_;    // values of the latest checkpoint
};

// Encodes the state. Values of completed leases become sizes and fingerprints.
State ToProto(const core::Checkpoint& checkpoint, CachedValueHasher* hasher);
// Decodes the state. Values of completed leases are synthetic. core::Check() says whether the
// result is a state that a core can have.
absl::StatusOr<core::Checkpoint> FromProto(const State& in, SyntheticPayloads* synthetic);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_CHECKPOINT_CONVERSION_H_
