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

// A coordinator with a stepped clock. Sends what processes would send, keeps every answer, and
// fails the test if a call is answered twice, or answered after it was cancelled.
class Harness {
 public:
  static core::Options DefaultOptions(uint32_t world_size);
  // Of an elastic job.
  static core::Options ElasticOptions(uint32_t min_world_size, uint32_t world_size);
  explicit Harness(core::Options options);
  explicit Harness(uint32_t world_size) : Harness(DefaultOptions(world_size)) {}

  Time now() const { return now_; }
  // Moves the clock in steps to each deadline on the way.
  void Advance(absl::Duration duration);

  // A new daemon takes the place of the old one, of which nothing more is heard; with other flags
  // if `change` makes them so.
  void Restart(const std::function<void(core::Options*)>& change = {});
  // What a member of an epoch claims that has completed this many collectives of the world.
  Claim ClaimOf(const Process& process, uint64_t next_of_world) const;
  // Attaches with that claim.
  WaiterId Recover(Process& process, uint64_t next_of_world);

  // A new process that has not called yet. Later ones have later start times.
  Process New(const std::string& node = "n0");
  // The same, attached.
  Process Attached(const std::string& node = "n0");
  // A job of `size` processes on one node, by rank, that has formed.
  std::vector<Process> Formed(uint32_t size);

  AttachRequest AttachOf(const Process& process) const;
  CallContext Context(const Process& process, std::optional<absl::Duration> timeout = {});

  // Each sends one call and returns its id; Absorbed answers are in replies().
  WaiterId Attach(Process& process);
  // Without the claim's roster; names it when it is asked for.
  WaiterId Attach(Process& process, const Claim& claim);
  WaiterId AttachWithRoster(Process& process, const Claim& claim);
  WaiterId AttachWithoutRoster(Process& process, Claim claim);
  WaiterId Attach(Process& process, AttachRequest request);
  WaiterId Attach(const AttachRequest& request);
  void CloseStream(Process& process);
  WaiterId Join(Process& process, JoinRequest wish = {}, absl::Duration timeout = absl::Minutes(1));
  CollectiveRequest Request(Process& process, CollectiveKind kind, const std::string& payload = "",
                            const std::string& group = "", std::vector<uint32_t> ranks = {});
  WaiterId Send(const CollectiveRequest& request);
  // What these members of one node send in one call, each its own; the first is the sender.
  static NodeCollectiveRequest Together(const std::vector<CollectiveRequest>& calls);
  WaiterId Send(const NodeCollectiveRequest& request);
  // The indices of the parts that have completed; the call must have been answered OK.
  std::vector<uint32_t> CompletedOf(WaiterId id) const;
  // Takes back what the process has sent at this number until now.
  WaiterId Withdraw(Process& process, uint64_t sequence, const GroupName& group = {});
  // The world's collective at this sequence number.
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
  // Leaves the process's epoch; TakePlace() enters the next one.
  WaiterId Rejoin(Process& process, absl::Duration timeout = absl::Minutes(10));
  // The process's place is what a Join or Rejoin was answered with.
  void TakePlace(Process& process, WaiterId id);
  // A call whose request needs nothing else than to say who calls: Call(p[0], StopRequest()).
  template <class Request>
  WaiterId Call(const Process& process, Request request) {
    request.call = Context(process);
    const WaiterId id = NextId();
    return Absorb(id, coordinator_->Step(now_, id, std::move(request)));
  }
  WaiterId Leave(Process& process, absl::Duration timeout = absl::Minutes(1));
  WaiterId ReportExit(const Process& process, bool signaled, int code,
                      const std::string& given_up = "");
  // A launcher says that it has started the process.
  WaiterId ReportStarted(const Process& process);
  void Cancel(WaiterId id);

  // Whether a call is still parked.
  bool Parked(WaiterId id) const { return replies_.count(id) == 0 && ends_.count(id) == 0; }
  bool Recovering() const { return coordinator_->GetStatus(now_).state == JobState::kRecovering; }
  // The answer of a call; the call must have been answered.
  const Reply& ReplyTo(WaiterId id) const;
  absl::Status StatusOf(WaiterId id) const;
  std::vector<std::string> PayloadsOf(WaiterId id) const;
  uint64_t TokenOf(WaiterId id) const;           // of a grant
  std::string LeaseResultOf(WaiterId id) const;  // of a completed lease
  // Why a stream was ended; nullopt while it is open.
  std::optional<absl::Status> EndOf(WaiterId stream) const;
  // The events of one kind on a stream, in order.
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
  // Those since the last time.
  std::vector<InquiryCause> TakeInquiryCauses() { return std::exchange(inquiry_causes_, {}); }

  Coordinator& coordinator() { return *coordinator_; }
  // Absorbs the effects of a step of one's own, whose call has this id (0: none).
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
