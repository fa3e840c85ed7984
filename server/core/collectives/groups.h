#ifndef MUSTER_SERVER_CORE_COLLECTIVES_GROUPS_H_
#define MUSTER_SERVER_CORE_COLLECTIVES_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/checkpoint.h"
#include "server/core/api/claim.h"
#include "server/core/group/collective_group.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"

namespace muster::core {

// The groups of the current epoch. Finds and makes them, applies the members' claims to them, and
// carries out the results of their steps. There must be an epoch when a member function is called.
class Groups {
 public:
  Groups(JobContext& job, const Lifecycle& life, const MemberTable& members, Calls& calls)
      : job_(job), life_(life), members_(members), calls_(calls) {}

  // Returns the group of that name that the rank is in. Makes it if there is none, with the errors
  // of Epoch::AddGroup().
  absl::StatusOr<CollectiveGroup*> Find(const GroupName& name, uint32_t caller_rank);
  // Returns UNAVAILABLE if a send under that attempt may not make the group anew.
  absl::Status CheckMayBeNew(const Member& member, const GroupName& name, uint64_t attempt) const;

  // Finishes the calls that have ended, and sends the news of the group.
  void Apply(CollectiveGroup* group, CollectiveGroup::Step step);
  // Asks the member for its contribution to the last collective, if others need it.
  void RequestContribution(const CollectiveGroup& group, Member* member);
  // Fails the collectives that wait for the leaver, which will not come.
  void FailFor(const Member& leaver);

  // ---- Claims ---- `attempt` is the attempt of the Attach that has brought them.
  void ApplyClaims(const Member& member, const std::vector<GroupClaim>& claims, uint64_t attempt);
  void ApplyClaim(CollectiveGroup* group, uint32_t rank, const KnownGroup& claim, uint64_t attempt);
  // Notes that a member has seen the stop in the world's collective of that number.
  void ObserveStop(uint64_t sequence);
  // Believes what a member that commits on its node says of its groups on one node.
  void TrustCommitsOf(const Member& member);
  // Asks a member that has attached again for all contributions that others need.
  void RequestContributionsOf(Member* member);

  void MakeCheckpoint(Checkpoint* out) const;
  void Restore(const Checkpoint& checkpoint);

  // Returns whether a rank may wait for contributions that this coordinator does not have.
  bool MayLackContributions(const CollectiveGroup& group) const {
    return epoch()->recovered() || group.on_one_node();
  }

 private:
  bool IsClosed(const GroupName& name, uint32_t rank) const;
  void ApplyClaimsTo(CollectiveGroup* group);
  void NoteNodes(CollectiveGroup* group);
  absl::Status ApplyClaim(const Member& member, const GroupClaim& claim, uint64_t attempt);
  void AnnounceFinished(const CollectiveGroup& group);
  void RequestContributions(const CollectiveGroup& group);
  void Restore(const Checkpoint::Group& known);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const Lifecycle& life_;
  const MemberTable& members_;
  Calls& calls_;
};

// Returns FAILED_PRECONDITION if members of the group have called Leave. `op` describes the
// collective.
absl::Status CheckNobodyIsLeaving(const CollectiveGroup& group, const std::string& op);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVES_GROUPS_H_
