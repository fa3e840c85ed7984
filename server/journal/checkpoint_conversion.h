#ifndef MUSTER_SERVER_JOURNAL_CHECKPOINT_CONVERSION_H_
#define MUSTER_SERVER_JOURNAL_CHECKPOINT_CONVERSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/core/checkpoint.h"
#include "server/core/vocabulary.h"
#include "server/journal/journal.pb.h"
#include "server/journal/kept_request.h"
#include "server/journal/stand_ins.h"

namespace muster::journal {

// Fingerprints of leases' values, which may be large, and are there in one checkpoint after the
// other: each is made once, and kept as long as the checkpoints have the value.
class ValueFingerprints {
 public:
  explicit ValueFingerprints(const Fingerprints& fingerprints) : fingerprints_(fingerprints) {}
  uint64_t Of(const core::Bytes& value);
  // Values that the one before did not have are forgotten.
  void BeginCheckpoint();

 private:
  // A value that is there no more is found no more, whatever comes to stand in its place.
  using ByValue = std::map<std::weak_ptr<const std::string>, uint64_t, std::owner_less<>>;

  const Fingerprints& fingerprints_;
  ByValue before_;  // of the checkpoint before, but for those that the latest has
  ByValue latest_;
};

State ToProto(const core::Checkpoint& checkpoint, ValueFingerprints* fingerprints);
// The values of completed leases are stand-ins. Whether it can be one, core::Check() says.
absl::StatusOr<core::Checkpoint> FromProto(const State& in, StandIns* stand_ins);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_CHECKPOINT_CONVERSION_H_
