#ifndef MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_REPORTER_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/group_id.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/member_outbox.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// The groups that the program has released, so that both sides can forget them:
// docs/protocol-failure.md, "How groups are forgotten". Tells the coordinator in batches which
// groups are released or closed, and applies its answers. Pure: no I/O, no threads, no clock.
class GroupReleaseReporter {
 public:
  GroupReleaseReporter(const SessionState& session, const MemberLifecycle& lifecycle,
                       MemberEpochs* epochs, PendingCalls* calls, MemberOutbox* outbox);
  GroupReleaseReporter(const GroupReleaseReporter&) = delete;
  GroupReleaseReporter& operator=(const GroupReleaseReporter&) = delete;

  // Drops one handle of the group: see MemberEpochs::Drop().
  void Drop(SteadyTime now, const GroupId& group);
  // Starts again for another epoch, whose groups are all new.
  void Reset();
  // Notes that the claim of an Attach has reported everything.
  void NoteClaimed();
  void TakeClosings(SteadyTime now, const v1::GroupsClosed& closings);

  // Returns why a collective of this group must not be sent yet, as its time-out words it; empty if
  // it may be sent. It waits until an earlier life of the group, or another group of its name, is
  // settled.
  absl::string_view BlockedBy(SteadyTime now, const MemberGroup& group);

  // Tells the coordinator what is due. Returns whether a call began.
  bool Report(SteadyTime now);
  // Returns when Report() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

 private:
  struct ReportedBatch {
    std::vector<std::pair<std::string, uint64_t>>
        groups;  // digests, and the numbers of their changes
    std::vector<std::string> unknown;
  };

  void NoteChange(SteadyTime now, MemberGroup* group);
  void ReportBy(SteadyTime when);
  bool CanReport() const;
  bool HasChanges() const;
  Request MakeReport(ReportedBatch* batch) const;
  void FinishReport(const ReportedBatch& batch, const PendingCall& call,
                    const absl::StatusOr<Response>& reply);
  void TakeClosed(SteadyTime now, const std::string& digest);
  void TakeSettled(MemberGroup* group);
  // Ends what was in progress in an earlier life of the group.
  void Restart(MemberGroup* group);

  const SessionState& session_;
  const MemberLifecycle& lifecycle_;
  MemberEpochs& epochs_;
  PendingCalls& calls_;
  MemberOutbox& outbox_;

  uint64_t last_change_ = 0;
  size_t unreported_changes_ = 0;
  std::optional<SteadyTime> report_at_;
  CallId report_call_ = 0;  // the background call that reports them; 0 if there is none
  std::set<std::string> unknown_closed_;  // digests of closed groups that this member does not have
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_GROUP_RELEASE_REPORTER_H_
