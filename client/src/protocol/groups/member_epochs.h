#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_EPOCHS_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_EPOCHS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/member_group.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/member_effects.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// Why an epoch is broken, and since when this member knows.
struct EpochEnd {
  absl::Status why;
  std::vector<v1::Failure> failures;
  SteadyTime when;
  // Whether the job goes on in another epoch; unset while that is unknown.
  std::optional<bool> may_rejoin;
};

// The epochs of one member, how they ended, and the state of the latest: groups, newcomers, a stop
// request. Pure: no I/O, no threads, no clock.
class MemberEpochs {
 public:
  // Enters an epoch, and ends the one before. Applies an end of the new epoch that was reported
  // early.
  void Entered(SteadyTime now, v1::JoinResponse place);

  // Returns the place in the latest epoch, or nullptr before the first.
  const v1::JoinResponse* place() const { return place_ ? &*place_ : nullptr; }
  bool IsIn(const EpochId& epoch) const { return this->epoch() == epoch; }
  // Returns the place in this epoch, or nullptr if it is not the latest.
  const v1::JoinResponse* PlaceIn(const EpochId& epoch) const {
    return IsIn(epoch) ? &*place_ : nullptr;
  }
  // Returns the ascending ranks of the latest epoch on this member's node, including its own.
  const std::vector<int>& node_ranks() const { return node_ranks_; }

  // Ends the epoch. The first reason wins; later calls only add details. Ignores epochs other than
  // the latest and later ones.
  void Ended(const EpochId& epoch, EpochEnd end);
  // Forgets how this epoch ended. No effect on the latest one.
  void Forget(const EpochId& epoch) {
    if (!IsIn(epoch)) ended_.erase(epoch);
  }
  // Returns OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const;
  // Returns the health of the latest epoch; OK before the first.
  absl::Status Health() const { return place_ ? HealthOf(*epoch()) : absl::OkStatus(); }

  // Returns whether the latest epoch is known to be the job's last.
  bool IsLast() const;

  using Groups = std::map<std::pair<std::string, std::vector<int>>, std::shared_ptr<MemberGroup>>;

  // Returns the group of this name and ranks in the latest epoch, and makes it if it is new.
  const std::shared_ptr<MemberGroup>& GroupOf(const std::string& name,
                                              const std::vector<int>& ranks);
  // Returns nullptr if the group is unknown, or its epoch is not the latest.
  std::shared_ptr<MemberGroup> FindGroup(const GroupId& group) const;
  MemberGroup* FindDigest(const std::string& digest) const;
  const Groups& groups() const { return groups_; }
  void ForgetGroup(const MemberGroup& group);

  // Adds or drops a handle of the group. Drop() returns the group if this releases it, otherwise
  // nullptr.
  void Hold(const GroupId& group);
  MemberGroup* Drop(const GroupId& group);
  // Returns whether another group of this name is released or closed. Its ranks may overlap this
  // one's.
  bool IsNameInUse(const MemberGroup& group) const;

  // Notes that the answer to the world's collective of this number reports a stop request.
  void StopAgreed(uint64_t sequence);
  bool stop_agreed() const { return stop_sequence_.has_value(); }

  // The number of processes for which the next epoch would have a place.
  void set_newcomers(int newcomers) { newcomers_ = newcomers; }
  int newcomers() const { return newcomers_; }

  // Adds everything about the latest epoch, except its roster, to the claim.
  void AddTo(SteadyTime now, v1::Claim* claim) const;

 private:
  std::optional<EpochId> epoch() const;
  static void AddGroupTo(const MemberGroup& group, v1::Claim* claim);
  void AddBrokenTo(SteadyTime now, v1::Claim* claim) const;

  std::shared_ptr<const NodeGroup> AtNode(const std::string& name,
                                          const std::vector<int>& ranks) const;

  std::optional<v1::JoinResponse> place_;
  std::vector<int> node_ranks_;
  std::map<EpochId, EpochEnd> ended_;
  // Ends of epochs that this member has not entered: the stream may report the end of an epoch
  // before Join's answer names it.
  std::map<EpochId, EpochEnd> ended_early_;
  Groups groups_;
  std::map<std::string, MemberGroup*> by_digest_;  // all groups but the world
  std::map<Groups::key_type, int> handles_;
  std::optional<uint64_t> stop_sequence_;
  int newcomers_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUPS_MEMBER_EPOCHS_H_
