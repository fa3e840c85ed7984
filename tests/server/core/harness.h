#ifndef MUSTER_TESTS_SERVER_CORE_HARNESS_H_
#define MUSTER_TESTS_SERVER_CORE_HARNESS_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/coordinator.h"

namespace muster::core {

// A process as the coordinator sees it: its identity, session and place.
struct Process {
  MemberIdentity identity;
  SessionId session;
  WaiterId stream = 0;
  EpochId epoch;
  uint32_t rank = 0;
  std::shared_ptr<const Roster> roster;
  JobHistory history;
  std::map<std::string, uint64_t> next;  // sequence number by group name
};

// A coordinator with a clock that the test steps. Sends the calls of processes and keeps every
// answer. Fails the test if a call is answered twice, or after it was cancelled.
//
//   Harness h(2);
//   std::vector<Process> p = h.Formed(2);
//   const WaiterId barrier = h.Barrier(p[0]);
//   EXPECT_TRUE(h.Parked(barrier));
//   h.Barrier(p[1]);
//   EXPECT_TRUE(h.StatusOf(barrier).ok());
class Harness {
 public:
  static core::Options DefaultOptions(uint32_t world_size);
  // Returns the options of an elastic job.
  static core::Options ElasticOptions(uint32_t min_world_size, uint32_t world_size);
  explicit Harness(core::Options options);
  explicit Harness(uint32_t world_size) : Harness(DefaultOptions(world_size)) {}

  Time now() const { return now_; }
  // Moves the clock on, and stops at each deadline on the way.
  void Advance(absl::Duration duration);

  // Replaces the daemon by a new one without state. Nothing more comes from the old one. `change`
  // may change the options.
  void Restart(const std::function<void(core::Options*)>& change = {});
  // Returns the claim of a member of an epoch that has completed this many collectives of the
  // world.
  Claim ClaimOf(const Process& process, uint64_t next_of_world) const;
  // Attaches with that claim.
  WaiterId Recover(Process& process, uint64_t next_of_world);

  // Returns a new process that has not called yet. Each one starts later than the one before.
  Process New(const std::string& node = "n0");
  // Returns a new process that has attached.
  Process Attached(const std::string& node = "n0");
  // Returns the members of a job that has formed, in rank order, all on one node.
  std::vector<Process> Formed(uint32_t size);

  AttachRequest AttachOf(const Process& process) const;
  CallContext Context(const Process& process, std::optional<absl::Duration> timeout = {});

  // Each of the following sends one call and returns its id. Answers are kept for ReplyTo().
  WaiterId Attach(Process& process);
  // Attaches with a claim that lists no roster. If the coordinator asks for the roster, attaches
  // again with it.
  WaiterId Attach(Process& process, const Claim& claim);
  WaiterId AttachWithRoster(Process& process, const Claim& claim);
  WaiterId AttachWithoutRoster(Process& process, Claim claim);
  WaiterId Attach(Process& process, AttachRequest request);
  WaiterId Attach(const AttachRequest& request);
  void CloseStream(Process& process);
  WaiterId Join(Process& process, JoinRequest request = {},
                absl::Duration timeout = absl::Minutes(1));
  CollectiveRequest Request(Process& process, CollectiveKind kind, const std::string& payload = "",
                            const std::string& group = "", std::vector<uint32_t> ranks = {});
  WaiterId Send(const CollectiveRequest& request);
  // Returns one call for all these calls of members of one node. The first member is the sender.
  static NodeCollectiveRequest Together(const std::vector<CollectiveRequest>& calls);
  WaiterId Send(const NodeCollectiveRequest& request);
  // Returns the indices of the parts that have completed. The call must have been answered OK.
  std::vector<uint32_t> CompletedOf(WaiterId id) const;
  // Withdraws all that the process has sent at this number so far.
  WaiterId Withdraw(Process& process, uint64_t sequence, const GroupName& group = {});
  // Sends the world's collective at this sequence number.
  WaiterId SendAt(Process& process, uint64_t sequence, CollectiveKind kind,
                  const std::string& payload = "", uint32_t root = 0);
  WaiterId Barrier(Process& process, const std::string& label = "",
                   absl::Duration timeout = absl::Minutes(1));
  WaiterId Acquire(Process& process, const std::string& name, uint64_t request_id,
                   LeaseScope scope = LeaseScope::kJob, absl::Duration timeout = absl::Minutes(1));
  WaiterId Complete(Process& process, const std::string& name, uint64_t token,
                    const std::string& value, LeaseScope scope = LeaseScope::kJob);
  WaiterId Abandon(Process& process, const std::string& name, uint64_t request_id,
                   LeaseScope scope = LeaseScope::kJob);
  // Leaves the process's epoch. TakePlace() enters the next one.
  WaiterId Rejoin(Process& process, absl::Duration timeout = absl::Minutes(10));
  // Sets the process's place from the answer to its Join or Rejoin.
  void TakePlace(Process& process, WaiterId id);
  // Sends a call whose request only identifies the caller: Call(p[0], StopRequest()).
  template <class Request>
  WaiterId Call(const Process& process, Request request) {
    request.call = Context(process);
    const WaiterId id = NextId();
    return Absorb(id, coordinator_->Step(now_, id, std::move(request)));
  }
  WaiterId Leave(Process& process, absl::Duration timeout = absl::Minutes(1));
  WaiterId ReportExit(const Process& process, bool signaled, int code,
                      const std::string& given_up = "");
  // Reports, as a launcher, that the process was started.
  WaiterId ReportStarted(const Process& process);
  void Cancel(WaiterId id);

  // Returns whether a call is still parked.
  bool Parked(WaiterId id) const { return replies_.count(id) == 0 && ends_.count(id) == 0; }
  bool Recovering() const { return coordinator_->GetStatus(now_).state == JobState::kRecovering; }
  // Returns the answer to a call, which must have been answered.
  const Reply& ReplyTo(WaiterId id) const;
  absl::Status StatusOf(WaiterId id) const;
  std::vector<std::string> PayloadsOf(WaiterId id) const;
  uint64_t TokenOf(WaiterId id) const;           // of a grant
  std::string LeaseResultOf(WaiterId id) const;  // of a completed lease
  // Returns the status that ended a stream, or nullopt while it is open.
  std::optional<absl::Status> EndOf(WaiterId stream) const;
  // Returns the events of one kind on a stream, in order.
  template <class E>
  std::vector<E> Events(WaiterId stream) const {
    std::vector<E> events;
    const auto it = events_.find(stream);
    if (it == events_.end()) return events;
    for (const StreamEvent& event : it->second) {
      if (const auto* e = std::get_if<E>(event.event.get())) events.push_back(*e);
    }
    return events;
  }
  std::vector<EpochBroken> BrokenEvents(WaiterId stream) const {
    return Events<EpochBroken>(stream);
  }
  const std::vector<LogLine>& log() const { return log_; }
  // Returns the causes for inquiries since the last call.
  std::vector<InquiryCause> TakeInquiryCauses() { return std::exchange(inquiry_causes_, {}); }

  Coordinator& coordinator() { return *coordinator_; }
  // Takes the effects of a step that the test has made itself. `id` is the id of its call, 0 if
  // there is none.
  WaiterId Absorb(WaiterId id, Effects effects);
  WaiterId NextId() { return ++ids_; }

 private:
  Time now_;
  WaiterId ids_ = 0;
  uint64_t attempts_ = 0;
  int processes_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
  std::map<WaiterId, Reply> replies_;
  std::map<WaiterId, absl::Status> ends_;
  std::map<WaiterId, std::vector<StreamEvent>> events_;
  std::set<WaiterId> cancelled_;
  std::vector<LogLine> log_;
  std::vector<InquiryCause> inquiry_causes_;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_HARNESS_H_
