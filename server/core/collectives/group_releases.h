#ifndef MUSTER_SERVER_CORE_COLLECTIVES_GROUP_RELEASES_H_
#define MUSTER_SERVER_CORE_COLLECTIVES_GROUP_RELEASES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/requests.h"
#include "server/core/collectives/groups.h"
#include "server/core/job/calls.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"

namespace muster::core {

// The groups that programs release: how groups are closed, settled and forgotten, and how a
// restarted coordinator learns of them (docs/protocol-failure.md, "How groups are forgotten").
class GroupReleases {
 public:
  GroupReleases(JobContext& job, const Lifecycle& life, Calls& calls, Groups& groups)
      : job_(job), life_(life), calls_(calls), groups_(groups) {}

  absl::Status CheckContent(const Member& member, const ReleaseRequest& request) const;
  absl::Status Serve(WaiterId id, Member* member, const ReleaseRequest& request);

  // Closes a group that there was no room to close before. Returns whether it did something.
  bool TryCloseMore();
  // Tells the ranks which groups this step has closed or settled.
  void SendClosings();

  // Applies the groups that an attaching member claims by digest.
  void ApplyKnownGroups(Member* member, const std::vector<KnownGroup>& groups, uint64_t attempt);
  // Closes the groups that can be closed once all members of a recovered epoch have made their
  // claims.
  void ResolveClaims();

 private:
  // Returns false if no such group is known.
  bool NoteRelease(Member* member, const KnownGroup& released, uint64_t attempt);
  bool HasRoomToClose(size_t ranks) const;
  // Closes the group if all ranks have released it. The pointer may be invalid afterwards.
  void CloseIfReleased(CollectiveGroup* group);
  void CloseIfAllClaimantsAgree(const std::string& digest);
  void ApplyKnownGroup(Member* member, const KnownGroup& claim, uint64_t attempt);
  Epoch* epoch() const { return life_.epoch(); }

  JobContext& job_;
  const Lifecycle& life_;
  Calls& calls_;
  Groups& groups_;
  std::set<std::string> unclosed_;  // digests of groups that there was no room to close
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVES_GROUP_RELEASES_H_
