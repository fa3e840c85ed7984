#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/src/protocol/collective_sequence.h"
#include "client/src/protocol/epoch_id.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// The epochs that one member has had a place in, how they ended, and its groups in the latest.
// Pure: no I/O, no threads, no clock.
class Membership {
 public:
  struct Group {
    std::vector<int> ranks;  // empty for the world
    std::shared_ptr<CollectiveSequence> sequence;
  };

  // The member has got a place; the epoch before it has ended. Applies an EpochBroken of this epoch
  // that came before.
  void Entered(v1::JoinResponse place);

  // The place in the latest epoch; nullptr before the first.
  const v1::JoinResponse* place() const { return place_ ? &*place_ : nullptr; }
  std::optional<EpochId> epoch() const;

  // The epoch has ended. One that this member was never in and does not enter is ignored, and the
  // first reason counts.
  void EpochBroken(const EpochId& epoch, const absl::Status& why);
  // OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const;

  // The group of this name in the latest epoch, which is new if it is not known.
  Group& GroupOf(const std::string& name, const std::vector<int>& ranks);
  const std::map<std::string, Group>& groups() const { return groups_; }

 private:
  std::optional<v1::JoinResponse> place_;
  std::map<EpochId, absl::Status> ended_;
  // The stream may tell of the epoch's end before Join's answer tells of the epoch.
  std::optional<std::pair<EpochId, absl::Status>> early_break_;
  std::map<std::string, Group> groups_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_
