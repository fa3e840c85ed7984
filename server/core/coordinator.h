#ifndef MUSTER_SERVER_CORE_COORDINATOR_H_
#define MUSTER_SERVER_CORE_COORDINATOR_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/core/checkpoint.h"
#include "server/core/metrics.h"
#include "server/core/options.h"
#include "server/core/timeline.h"
#include "server/core/types.h"

namespace muster::core {

// Every decision of one job's coordinator, as a state machine without I/O: a request and the time
// go in, effects come out. Each call that takes a WaiterId is answered by exactly one Reply (for
// Attach: one StreamEnd, after its events), in this step or a later one, unless Cancel
// (StreamClosed) takes the id back first. Requests that are malformed or do not fit the state are
// answered at once and change nothing.
//
// To drive it, in the daemon or in a simulation: give every message that arrives an id of its own,
// call the method of its kind, and carry the effects out: `replies` end calls, `events` go to open
// streams in order, `ends` close streams, `log` is for people. Call Tick when NextDeadline has
// come. When a peer is gone, call Cancel for its parked calls and StreamClosed for its stream, in
// any order. To restart the daemon, make a new Coordinator with another Options::instance: nothing
// else is carried over, what matters comes back in the claims of AttachRequest.
//
// Not thread-safe: the caller serializes the steps. `now` must not go back.
class Coordinator {
 public:
  // `options` must be valid.
  explicit Coordinator(Options options);
  // Goes on, at that time, from the checkpoint of one with the same options. For who wants to know
  // what that one did: a daemon that starts again has its members' claims instead.
  Coordinator(Options options, Time now, const Checkpoint& checkpoint);
  ~Coordinator();

  Effects Attach(Time now, WaiterId stream, const AttachRequest& request);
  // The stream has ended from the other side. Unknown ids are ignored.
  Effects StreamClosed(Time now, WaiterId stream);

  Effects Join(Time now, WaiterId waiter, const JoinRequest& request);
  // Leaves (and breaks) the claimed epoch of an elastic job for the next one.
  Effects Rejoin(Time now, WaiterId waiter, const RejoinRequest& request);
  Effects Collective(Time now, WaiterId waiter, const CollectiveRequest& request);
  // `waiter` must be below 2^53.
  Effects NodeCollective(Time now, WaiterId waiter, const NodeCollectiveRequest& request);
  Effects WithdrawArrival(Time now, WaiterId waiter, const WithdrawRequest& request);
  Effects ReleaseGroups(Time now, WaiterId waiter, const ReleaseRequest& request);
  Effects AcquireLease(Time now, WaiterId waiter, const AcquireLeaseRequest& request);
  Effects CompleteLease(Time now, WaiterId waiter, const CompleteLeaseRequest& request);
  Effects AbandonLease(Time now, WaiterId waiter, const AbandonLeaseRequest& request);
  Effects Leave(Time now, WaiterId waiter, const LeaveRequest& request);
  Effects RequestStop(Time now, WaiterId waiter, const StopRequest& request);
  Effects ReportExit(Time now, WaiterId waiter, const ExitReport& report);

  Effects ReportProcessState(Time now, WaiterId waiter, const ProcessStateReport& report);

  // The caller of a parked call has gone away: withdraws it without a reply. Unknown ids are
  // ignored.
  Effects Cancel(Time now, WaiterId waiter);

  // Does what is due: call at NextDeadline(), or at any time.
  Effects Tick(Time now);
  // When Tick() has something to do next; InfiniteFuture if nothing is due.
  Time NextDeadline() const;

  // What another coordinator needs to go on from here; nullopt while something is under way.
  std::optional<Checkpoint> MakeCheckpoint() const;

  // An InquiryDesk has found out why somebody waits: into the log and the timeline, and nothing
  // else comes of it.
  Effects NoteVerdict(Time now, const std::string& verdict);

  // The daemon is about to stop: ends every parked call and stream, and from now on every new one,
  // with UNAVAILABLE and this reason.
  Effects Drain(Time now, const std::string& reason);

  // Whose NOT_FOUND is answered if `job_id` is neither empty nor this job's.
  absl::Status CheckJob(absl::string_view job_id) const;
  JobStatus GetStatus(Time now, bool with_completed_leases = true) const;
  // How far the job is, and these members of it: costs little, however large it is. The reason is
  // there where the job waits for nobody.
  JobStatus GetBriefStatus(Time now, const std::vector<Incarnation>& members) const;
  // What has happened of late, the oldest first.
  std::vector<TimelineEntry> GetTimeline() const;
  Metrics Measure(Time now) const;

  // How the job ended: OK if every member has left, an error that names the loss if it failed;
  // nullopt while it goes on.
  std::optional<absl::Status> Outcome() const;
  // No Attach stream is open.
  bool Quiet() const;

  const Options& options() const;

  // Counts that steps rely on, and that are not what counting anew comes to; empty: all are right.
  // For tests.
  std::string FindWrongCounts() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COORDINATOR_H_
