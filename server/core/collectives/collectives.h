#ifndef MUSTER_SERVER_CORE_COLLECTIVES_COLLECTIVES_H_
#define MUSTER_SERVER_CORE_COLLECTIVES_COLLECTIVES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/requests.h"
#include "server/core/collectives/groups.h"
#include "server/core/group/collective_group.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"
#include "server/core/job/member_table.h"

namespace muster::core {

// The handler of Barrier, Broadcast, Gather and AllGather (collectives.cc), of calls that carry the
// arrivals of several members (node_collectives.cc), and of reports about collectives that have
// completed on their node (commit_reports.cc).
class Collectives {
 public:
  Collectives(JobContext& job, const Lifecycle& life, MemberTable& members, Calls& calls,
              Groups& groups)
      : job_(job), life_(life), members_(members), calls_(calls), groups_(groups) {}

  absl::Status CheckContent(const Member& member, const CollectiveRequest& request) const;
  absl::Status CheckContent(const Member& member, const WithdrawRequest& request) const;
  absl::Status CheckContent(const Member& member, const CommitReport& report) const;
  absl::Status Serve(WaiterId id, Member* member, const CollectiveRequest& request);
  absl::Status Serve(WaiterId id, Member* member, const WithdrawRequest& request);
  absl::Status Serve(WaiterId id, Member* member, const CommitReport& report);
  // Serves the arrivals of several members now, or answers that each member must send its own call.
  absl::Status Receive(WaiterId id, const NodeCollectiveRequest& request);

  // Ends the member's parts of node collectives when its stream has closed. A part has no caller of
  // its own that would cancel it.
  void EndPartsOf(const Member& member);
  absl::Status DescribeTimeout(const ParkedCall& call, const WaitForCollective& wait) const;

 private:
  struct MemberPart {
    Member* member;
    uint32_t index;  // in the group
  };

  absl::Status CheckTexts(const CollectiveRequest& request) const;
  absl::Status CheckPayloadSize(const Bytes& payload) const;
  // Checks the root against the size of the group. `known` is null if the group is new.
  absl::Status CheckRoot(const CollectiveRequest& request, const CollectiveGroup* known) const;
  absl::Status CheckGroupAndRoot(const Member& member, const CollectiveRequest& request) const;
  // Checks the payload that a rank sends against the size that its call names for all ranks.
  static absl::Status CheckPayload(const CollectiveRequest& request, const Bytes& payload,
                                   uint32_t index, uint32_t rank);
  // Returns the group of the member's call. Makes it if it is new.
  absl::StatusOr<CollectiveGroup*> GroupOfCall(const Member& member,
                                               const CollectiveRequest& request);
  void Arrive(WaiterId id, CollectiveGroup* group, uint32_t index, const CollectiveRequest& call);

  absl::Status CheckTogether(const NodeCollectiveRequest& request) const;
  absl::Status ServeTogether(WaiterId id, Member* sender, const NodeCollectiveRequest& request);
  // Returns the member behind each part. An error says why a part cannot be taken.
  absl::StatusOr<std::vector<MemberPart>> MatchParts(const Member& sender,
                                                     const CollectiveGroup& group,
                                                     const NodeCollectiveRequest& request) const;
  absl::StatusOr<Member*> FindPart(const Member& sender, const ArrivalPart& part) const;
  // Returns the group of reported commits, or null if it is not known (any more). An error says why
  // the commits cannot be.
  absl::StatusOr<CollectiveGroup*> GroupOfCommits(const Member& member,
                                                  const CommitReport::Group& commits);
  void TakeCommits(const Member& member, CollectiveGroup* group,
                   const CommitReport::Group& commits);
  void ParkParts(WaiterId id, CollectiveGroup* group, const std::vector<MemberPart>& members,
                 const NodeCollectiveRequest& request);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const Lifecycle& life_;
  MemberTable& members_;
  Calls& calls_;
  Groups& groups_;
};

// Returns text such as "missing 1 of 3: rank 2 (node ...), ...; arrived and stopped waiting: rank
// 1".
std::string DescribeAbsentees(const Epoch& epoch, const Absentees& absent, size_t of, Time now);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVES_COLLECTIVES_H_
