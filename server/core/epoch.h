#ifndef MUSTER_SERVER_CORE_EPOCH_H_
#define MUSTER_SERVER_CORE_EPOCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/byte_budget.h"
#include "server/core/claimed_groups.h"
#include "server/core/closed_groups.h"
#include "server/core/collective_group.h"
#include "server/core/effects.h"
#include "server/core/group_table.h"
#include "server/core/lateness.h"
#include "server/core/member_table.h"
#include "server/core/options.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// One formed membership, and its groups.
class Epoch {
 public:
  // `members` are in rank order, as the roster names them; they, `budget` and `tally`
  // must outlive the epoch. `recovered`: formed by an earlier daemon, and known from claims.
  Epoch(EpochId id, std::shared_ptr<const Roster> roster, std::vector<Member*> members,
        bool recovered, const Limits& limits, ByteBudget* budget, Tally* tally);

  const EpochId& id() const { return id_; }
  const std::shared_ptr<const Roster>& roster() const { return roster_; }
  // What the member of that rank is told of the epoch.
  JoinAnswer PlaceOf(uint32_t rank, const JobHistory& history) const {
    return {id_, rank, roster_, roster_encoding_, history};
  }
  const std::vector<Member*>& members() const { return members_; }  // by rank
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  bool recovered() const { return recovered_; }

  // Once a member is lost: what every call of the epoch ends with.
  bool broken() const { return !broken_with_.ok(); }
  const absl::Status& broken_with() const { return broken_with_; }
  void Break(const std::string& reason) { broken_with_ = absl::AbortedError(reason); }

  const GroupTable& groups() const { return groups_; }
  // A group that is not there yet. FAILED_PRECONDITION: another one of the name shares ranks with
  // it. UNAVAILABLE: the same, and these ranks have let the other one go. RESOURCE_EXHAUSTED: there
  // are too many.
  absl::StatusOr<CollectiveGroup*> AddGroup(const GroupName& name);

  // All ranks have let the group go. Nothing may refer to it any more.
  void RemoveGroup(const CollectiveGroup* group) { groups_.Remove(group); }
  // What members claim of groups whose ranks nobody has named here yet.
  ClaimedGroups& claimed_groups() { return claimed_groups_; }
  // Groups that are closed and not settled.
  ClosedGroups& closed_groups() { return closed_groups_; }

  // Whom its collectives have waited for.
  const LatenessBook& lateness() const { return lateness_; }

  // What is odd about its members, in words; known where it has formed here.
  const std::vector<std::string>& oddities() const { return oddities_; }
  void NoteOddities(std::vector<std::string> oddities) { oddities_ = std::move(oddities); }

  // From its next completion on, every answer of the world says that a stop was asked for.
  void AskStop();

 private:
  const EpochId id_;
  const std::shared_ptr<const Roster> roster_;
  const std::shared_ptr<EncodingSlot> roster_encoding_ = std::make_shared<EncodingSlot>();
  const std::vector<Member*> members_;
  const bool recovered_;
  const Limits limits_;
  ByteBudget* const budget_;
  absl::Status broken_with_;
  LatenessBook lateness_;  // before the groups that tell it
  GroupTable groups_;
  ClaimedGroups claimed_groups_;
  ClosedGroups closed_groups_;
  bool stop_asked_ = false;
  std::vector<std::string> oddities_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_EPOCH_H_
