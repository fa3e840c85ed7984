#ifndef MUSTER_SERVER_CORE_JOB_EPOCH_H_
#define MUSTER_SERVER_CORE_JOB_EPOCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/effects.h"
#include "server/core/api/options.h"
#include "server/core/group/collective_group.h"
#include "server/core/group/group_table.h"
#include "server/core/job/claimed_groups.h"
#include "server/core/job/closed_groups.h"
#include "server/core/job/member_table.h"
#include "server/core/statistics/lateness.h"
#include "server/core/support/byte_budget.h"

namespace muster::core {

// A formed membership, and its groups.
class Epoch {
 public:
  // `members` are in rank order, as the roster names them. They, `budget` and `tally` must outlive
  // the epoch. `recovered` means that an earlier daemon formed the epoch, and that it is known from
  // claims.
  Epoch(EpochId id, std::shared_ptr<const Roster> roster, std::vector<Member*> members,
        bool recovered, const Limits& limits, ByteBudget* budget, Tally* tally);

  const EpochId& id() const { return id_; }
  const std::shared_ptr<const Roster>& roster() const { return roster_; }
  // Returns the answer that tells the member of that rank its place.
  JoinAnswer PlaceOf(uint32_t rank, const JobHistory& history) const {
    return {id_, rank, roster_, roster_encoding_, history, stop_asked_};
  }
  const std::vector<Member*>& members() const { return members_; }  // by rank
  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  bool recovered() const { return recovered_; }

  // Return whether the epoch is broken, because a member was lost or asked for a new epoch, and the
  // error with which all of its calls then end.
  bool broken() const { return !broken_status_.ok(); }
  const absl::Status& broken_status() const { return broken_status_; }
  void Break(const std::string& reason) { broken_status_ = absl::AbortedError(reason); }

  const GroupTable& groups() const { return groups_; }
  // Makes a group that does not exist yet. Returns FAILED_PRECONDITION if another group of that
  // name shares ranks with it. Returns UNAVAILABLE instead if all of `name`'s ranks have released
  // that other group. Returns RESOURCE_EXHAUSTED if there are too many groups or ranks.
  absl::StatusOr<CollectiveGroup*> AddGroup(const GroupName& name);

  // Removes a group that all ranks have released. Nothing may refer to it any more.
  void RemoveGroup(const CollectiveGroup* group) { groups_.Remove(group); }
  // Returns the members' claims of groups whose ranks no call has named here yet.
  ClaimedGroups& claimed_groups() { return claimed_groups_; }
  // Returns the groups that are closed and not settled.
  ClosedGroups& closed_groups() { return closed_groups_; }

  // Returns how late ranks came to the epoch's collectives.
  const LatenessStats& lateness() const { return lateness_; }

  // The differences between its members, in words. Empty for an epoch that was recovered from
  // claims.
  const std::vector<std::string>& oddities() const { return oddities_; }
  void NoteOddities(std::vector<std::string> oddities) { oddities_ = std::move(oddities); }

  // Makes every answer of the world say that a stop was asked for, beginning with the next
  // collective that completes.
  void AskStop();

 private:
  const EpochId id_;
  const std::shared_ptr<const Roster> roster_;
  const std::shared_ptr<EncodingSlot> roster_encoding_ = std::make_shared<EncodingSlot>();
  const std::vector<Member*> members_;
  const bool recovered_;
  const Limits limits_;
  ByteBudget* const budget_;
  absl::Status broken_status_;
  LatenessStats lateness_;  // declared before the groups, which report to it
  GroupTable groups_;
  ClaimedGroups claimed_groups_;
  ClosedGroups closed_groups_;
  bool stop_asked_ = false;
  std::vector<std::string> oddities_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_EPOCH_H_
