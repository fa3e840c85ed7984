#ifndef MUSTER_SERVER_CORE_FORMATION_JOINING_H_
#define MUSTER_SERVER_CORE_FORMATION_JOINING_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/core/api/member_fingerprint.h"
#include "server/core/api/requests.h"
#include "server/core/formation/placement_requests.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"
#include "server/core/support/stall_clock.h"

namespace muster::core {

// The candidates: members that wait for a place in the next epoch. Serves Join, agrees on the
// world's size, and refuses candidates for which there is no place.
class Joining {
 public:
  Joining(JobContext& job, const Lifecycle& life, MemberTable& members, Calls& calls)
      : job_(job), life_(life), members_(members), calls_(calls), places_(job.elastic()) {}

  absl::Status CheckContent(const Member& member, const JoinRequest& request) const;
  absl::Status Serve(WaiterId id, Member* member, const JoinRequest& request);
  // Returns CANCELLED if a later send of the member's Join or Rejoin has arrived.
  absl::Status CheckAttempt(const Member& member, const CallContext& call) const;

  // Parks the member's Join or Rejoin, and makes the member a candidate. Ends an older call of the
  // two kinds.
  void SeekPlace(WaiterId id, Member* member, const CallContext& call,
                 const PlacementConstraints& constraints, bool rejoins);
  // Removes the member from the candidates. Its call stays parked, if there is one.
  void StopSeeking(Member* member);
  void RefuseCandidate(Member* member, const absl::Status& status);
  // Refuses all candidates, because there will be no place for them.
  void RefuseCandidates(const absl::Status& why);
  // Starts the settle time anew, because a member has come, gone or been lost.
  void NoteChange();
  Time changed() const { return changed_; }  // when NoteChange was last called

  // Returns the size of the epoch. Without one: the size that it will have, or 0 if that is not
  // known.
  uint32_t WorldSize() const;
  // Returns the most members that an epoch can have. The flags say it. Without a flag, it is the
  // larger of the epoch's size and the largest size that a joiner has named.
  uint32_t Places() const;

  const PlacementRequests& places() const { return places_; }
  Member* CandidateOf(PlacementRequests::Id id) const;
  // Does what PlacementRequests::Decide() says.
  std::optional<PlacementRequests::Decision> DecideContenders();
  // Returns how many candidates have no place in the current epoch, or 0 without an epoch.
  uint32_t NewcomersWaiting() const;
  // Returns text such as "; missing: rank 3; present: process (node 'n0', ...), ...".
  std::string DescribeCandidates() const;
  StallClock& stall() { return stall_; }

 private:
  absl::Status CheckJoin(const Member& member, const JoinRequest& request) const;
  absl::Status CheckWorldSize(const Member& member, const PlacementConstraints& constraints) const;
  absl::Status RefuseLateJoin(const Member& member, const PlacementConstraints& constraints) const;
  absl::Status Join(WaiterId id, Member* member, const JoinRequest& request);
  void AgreeOnSize(const Member& member, uint32_t size);
  void NoteFingerprint(Member* member, const JoinRequest& request);
  void NoteRefused(Member* member, const absl::Status& why);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const Lifecycle& life_;
  MemberTable& members_;
  Calls& calls_;
  PlacementRequests places_;
  FactsInterner facts_;
  Time changed_;
  StallClock stall_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_FORMATION_JOINING_H_
