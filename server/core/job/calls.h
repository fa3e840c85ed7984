#ifndef MUSTER_SERVER_CORE_JOB_CALLS_H_
#define MUSTER_SERVER_CORE_JOB_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/api/effects.h"
#include "server/core/job/job_context.h"
#include "server/core/job/member_table.h"
#include "server/core/job/node_batches.h"
#include "server/core/job/parked_calls.h"
#include "server/core/job/stall_watch.h"
#include "server/core/support/repeat_limiter.h"

namespace muster::core {

// The calls that have no answer yet: the call that is being served, and the parked calls.
//
// A call begins with Open(). The owner that serves it finishes it or parks it, to be finished in a
// later step. Finish() is the only way to answer a call, and it answers once: ids of calls that
// have ended are ignored. Drop() ends a call without an answer.
class Calls {
 public:
  Calls(JobContext& job, MemberTable& members, StallWatch& stalls)
      : job_(job), members_(members), stalls_(stalls) {}

  // Returns the member that makes the call. An error says why calls of that session are not served.
  absl::StatusOr<Member*> Caller(const CallContext& call);
  // Returns CANCELLED if this send is known to have been given up.
  absl::Status CheckWanted(const Member& member, const CallContext& call) const;

  // Begins the call of this step.
  void Open(WaiterId id) { served_ = Served{id}; }
  // Takes a parked call out of the queue to serve it now. Returns nullopt if it is not parked.
  std::optional<ParkedCall> Reopen(WaiterId id);

  // Returns RESOURCE_EXHAUSTED if the member, or all members together, have as many parked calls as
  // the limits allow.
  absl::Status CanPark(const Member& member) const;
  // A description of what the member does while the call waits. Null leaves the member's activity
  // as it is.
  using Description = std::shared_ptr<const std::string>;
  static Description MakeDescription(std::string what) {
    return std::make_shared<const std::string>(std::move(what));
  }
  // Parks the call until Finish(), Drop() or its time-out, which counts from call.since.
  void Park(WaiterId id, Member* member, WaitReason wait, const CallContext& call,
            Description what);
  // Parks a NodeCollective until its parts have ended. Each part is parked on its own, under
  // NodeBatches::PartId().
  void ParkBatch(WaiterId id, size_t parts);

  // Ends the call, and replies with this status and, if it is OK, with this answer.
  void Finish(WaiterId id, const absl::Status& status, Answer answer = {});
  void Respond(WaiterId id, Answer answer = {}) { Finish(id, absl::OkStatus(), std::move(answer)); }
  // Finishes a parked call whose time-out has passed. A late duplicate of the call will be refused.
  void TimeOut(WaiterId id, const absl::Status& status);
  // Forgets the call, because its caller is gone.
  void Drop(WaiterId id);
  // Forgets a NodeCollective; its parts stay parked. Returns false if `id` is not one.
  bool DropBatch(WaiterId id) { return batches_.Forget(id); }
  // Finishes the NodeCollectives that this step has completed.
  void AnswerBatches();

  // Counts and logs the time-out of a parked call. Only the first of many of one kind is logged as
  // a warning. LogSuppressedTimeouts() reports at NextTimeoutSummary() how many others there were.
  void NoteTimeout(const ParkedCall& call, const absl::Status& status);
  void LogSuppressedTimeouts();
  Time NextTimeoutSummary() const { return timeouts_.Next(); }

  const ParkedCalls& parked() const { return parked_; }
  // Returns a call whose deadline has passed. It stays parked, and is not returned again.
  std::optional<WaiterId> PopExpired() { return parked_.PopExpired(job_.now); }

 private:
  struct Served {
    WaiterId id = 0;
    Member* member = nullptr;  // set if the call was reopened
  };

  absl::Status CheckContext(const CallContext& call) const;
  // Makes the error for a session that this daemon does not know, or no longer knows.
  absl::Status UnknownSession(const SessionId& session) const;
  bool IsServed(WaiterId id) const { return served_ && served_->id == id; }
  // Takes the call out of the calls without an answer. Returns false if it has ended before.
  bool Close(WaiterId id, bool completed);
  void NoteGivenUp(const ParkedCall& call);

  JobContext& job_;
  MemberTable& members_;
  StallWatch& stalls_;
  std::optional<Served> served_;
  ParkedCalls parked_;
  NodeBatches batches_;
  RepeatLimiter timeouts_;  // by TimeoutKind()
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_CALLS_H_
