#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/effects.h"
#include "client/src/protocol/epoch_id.h"
#include "client/src/protocol/group_id.h"
#include "client/src/protocol/member_group.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::internal {

// Why an epoch is broken, and since when that is known.
struct EpochEnd {
  absl::Status why;
  std::vector<v1::Failure> failures;
  SteadyTime when;
  // Whether the job goes on in another epoch; absent while that is not known.
  std::optional<bool> may_rejoin;
};

// The epochs that one member has had a place in, how they ended, and what there is in the latest:
// groups, newcomers, a stop. Pure: no I/O, no threads, no clock.
class Membership {
 public:
  // The member has got a place; the epoch before it has ended. Applies an end of this epoch that
  // was told before.
  void Entered(SteadyTime now, v1::JoinResponse place);

  // The place in the latest epoch; nullptr before the first.
  const v1::JoinResponse* place() const { return place_ ? &*place_ : nullptr; }
  bool IsIn(const EpochId& epoch) const { return this->epoch() == epoch; }
  // Those of the latest epoch who are on this member's node, this one too: their ranks, growing.
  const std::vector<int>& node_ranks() const { return node_ranks_; }

  // The epoch has ended. The first reason counts, what is known beside it is added, and an epoch
  // that this member neither is in nor enters next is ignored.
  void Ended(const EpochId& epoch, EpochEnd end);
  // Nobody asks for this epoch any more, which may have ended. No effect on the latest one.
  void Forget(const EpochId& epoch) {
    if (!IsIn(epoch)) ended_.erase(epoch);
  }
  // OK, or the error that every call of that epoch ends with.
  absl::Status HealthOf(const EpochId& epoch) const;
  // The same of the latest epoch; OK before the first.
  absl::Status Health() const { return place_ ? HealthOf(*epoch()) : absl::OkStatus(); }

  // Whether the latest epoch is known to be the job's last one.
  bool IsLast() const;

  using Groups = std::map<std::pair<std::string, std::vector<int>>, std::shared_ptr<MemberGroup>>;

  // The group of this name and ranks in the latest epoch, which is new if it is not known.
  const std::shared_ptr<MemberGroup>& GroupOf(const std::string& name,
                                              const std::vector<int>& ranks);
  // nullptr if it is not known, or the epoch is not the latest one.
  std::shared_ptr<MemberGroup> FindGroup(const GroupId& group) const;
  MemberGroup* FindDigest(const std::string& digest) const;
  const Groups& groups() const { return groups_; }
  void ForgetGroup(const MemberGroup& group);

  // The program has one more handle of such a group, or one less. Returns the group that it lets
  // go, or nullptr.
  void Hold(const GroupId& group);
  MemberGroup* Drop(const GroupId& group);
  // A group of this name, not this one itself, that is let go or closed: its ranks may be in both.
  bool IsNameInUse(const MemberGroup& group) const;

  // The answer to the world's collective of this number says that a stop was asked for.
  void StopAgreed(uint64_t sequence);
  bool stop_agreed() const { return stop_sequence_.has_value(); }

  // Processes for which the next epoch would have a place.
  void set_newcomers(int newcomers) { newcomers_ = newcomers; }
  int newcomers() const { return newcomers_; }

  // Puts all of the latest epoch, but for its roster, into what the member tells a coordinator.
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
  // The stream may tell of the epoch's end before Join's answer tells of the epoch.
  std::map<EpochId, EpochEnd> ended_early_;
  Groups groups_;
  std::map<std::string, MemberGroup*> by_digest_;  // all but the world
  std::map<Groups::key_type, int> handles_;
  std::optional<uint64_t> stop_sequence_;
  int newcomers_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MEMBERSHIP_H_
