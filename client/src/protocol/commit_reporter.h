#ifndef MUSTER_CLIENT_SRC_PROTOCOL_COMMIT_REPORTER_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_COMMIT_REPORTER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "client/src/base/steady_clock.h"
#include "client/src/protocol/groups/member_epochs.h"
#include "client/src/protocol/member_lifecycle.h"
#include "client/src/protocol/messages/member_effects.h"
#include "client/src/protocol/messages/session_state.h"
#include "client/src/protocol/pending_calls.h"

namespace muster::internal {

// The collectives that this member has completed on its node as their sender, until the coordinator
// knows of them (docs/node-fan-in.md, R18). Reports them in batches. Pure: no I/O, no threads, no
// clock.
class CommitReporter {
 public:
  CommitReporter(const SessionState& session, const MemberLifecycle& lifecycle,
                 const MemberEpochs& epochs, PendingCalls* calls);
  CommitReporter(const CommitReporter&) = delete;
  CommitReporter& operator=(const CommitReporter&) = delete;

  // Notes a collective of the group that this member has completed.
  void Note(SteadyTime now, const std::shared_ptr<MemberGroup>& group, v1::NodeCommit commit);
  // Starts again for another epoch. NoteClaimed() notes that the claim of an Attach tells of all
  // commits.
  void Reset();
  void NoteClaimed() { Reset(); }
  // Makes all commits due at once, because the member is about to leave.
  void ReportSoon(SteadyTime now) { ReportBy(now); }

  // Tells the coordinator what is due. Returns whether a call began.
  bool Report(SteadyTime now);
  // Returns when Report() has something to do next, or SteadyTime::max().
  SteadyTime NextDeadline() const;

 private:
  struct Commit {
    std::shared_ptr<MemberGroup> group;
    uint64_t life = 0;  // MemberGroup::lives
    v1::NodeCommit commit;
  };
  using Batch = std::deque<Commit>;

  void ReportBy(SteadyTime when);
  bool CanReport() const;
  Batch TakeBatch();
  Request MakeReport(const Batch& batch) const;
  void FinishReport(const PendingCall& call);

  const SessionState& session_;
  const MemberLifecycle& lifecycle_;
  const MemberEpochs& epochs_;
  PendingCalls& calls_;

  Batch unreported_;  // the oldest first
  std::optional<SteadyTime> report_at_;
  CallId report_call_ = 0;  // the background call that reports; 0 if there is none
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_COMMIT_REPORTER_H_
