#ifndef MUSTER_SERVER_CORE_CALLS_H_
#define MUSTER_SERVER_CORE_CALLS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/effects.h"
#include "server/core/job_context.h"
#include "server/core/member_table.h"
#include "server/core/node_batches.h"
#include "server/core/parked_calls.h"
#include "server/core/repeat_limiter.h"
#include "server/core/stall_watch.h"

namespace muster::core {

// The calls that have no answer yet: the call that is being served, and those that wait.
//
// A call begins with Open. Whoever serves it either finishes it or parks it, to be finished in a
// later step. Finish is the only way to answer a call, and answers it once: it ignores the ids of
// calls that have ended. Drop ends a call without an answer.
class Calls {
 public:
  Calls(JobContext& job, MemberTable& members, StallWatch& stalls)
      : job_(job), members_(members), stalls_(stalls) {}

  // Returns the member that makes the call. The error says why no call of that session is served.
  absl::StatusOr<Member*> Caller(const CallContext& call);
  // Returns CANCELLED if this send is known to have been given up.
  absl::Status CheckWanted(const Member& member, const CallContext& call) const;

  // The step is about this call.
  void Open(WaiterId id) { served_ = Served{id}; }
  // Takes a parked call out of those that wait, to be served now.
  std::optional<ParkedCall> Reopen(WaiterId id);

  absl::Status CanPark(const Member& member) const;
  // `what` is said of the member while the call waits; null where it waits for nothing of its own.
  using Words = std::shared_ptr<const std::string>;
  static Words Say(std::string what) {
    return std::make_shared<const std::string>(std::move(what));
  }
  void Park(WaiterId id, Member* member, Wait wait, const CallContext& call, Words what);
  // The call waits for its parts, which are parked by themselves (NodeBatches::PartId).
  void ParkBatch(WaiterId id, size_t parts);

  // Ends the call, and answers it with that status, and where it is OK with that answer.
  void Finish(WaiterId id, const absl::Status& status, Answer answer = {});
  void Respond(WaiterId id, Answer answer = {}) { Finish(id, absl::OkStatus(), std::move(answer)); }
  // The same for a parked call whose time is over: a late duplicate of it is refused.
  void TimeOut(WaiterId id, const absl::Status& status);
  // Nobody waits for the answer any more.
  void Drop(WaiterId id);
  // Nobody waits for the answer to the whole batch any more; its parts stay. False: it is none.
  bool DropBatch(WaiterId id) { return batches_.Forget(id); }
  // Finishes the batches that are to be answered after this step.
  void AnswerBatches();

  // Counts and logs the time-out of a parked call. Of many of one kind only the first is a warning;
  // TellTimeoutsLeftOut says at NextTimeoutNews() how many others there were.
  void NoteTimeout(const ParkedCall& call, const absl::Status& status);
  void TellTimeoutsLeftOut();
  Time NextTimeoutNews() const { return timeouts_.Next(); }

  const ParkedCalls& parked() const { return parked_; }
  // A call whose deadline has come. It stays parked, and is not returned again.
  std::optional<WaiterId> PopExpired() { return parked_.PopExpired(job_.now); }

 private:
  struct Served {
    WaiterId id = 0;
    Member* member = nullptr;  // of a call that was reopened
  };

  absl::Status CheckContext(const CallContext& call) const;
  // What a call of a process that this daemon does not (or no longer) know is told.
  absl::Status UnknownSession(const SessionId& session) const;
  bool IsServed(WaiterId id) const { return served_ && served_->id == id; }
  // Takes the call out of those that have no answer. False: it has ended before.
  bool Close(WaiterId id, bool completed);
  void NoteGivenUp(const ParkedCall& call);

  JobContext& job_;
  MemberTable& members_;
  StallWatch& stalls_;
  std::optional<Served> served_;
  ParkedCalls parked_;
  NodeBatches batches_;
  RepeatLimiter timeouts_;  // by the words of TimeoutKind()
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_CALLS_H_
