#ifndef MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_NARRATOR_H_
#define MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_NARRATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/journal/replay/replayer.h"

namespace muster::journal {

// A process of the job, across its sessions and across restarts of the daemon.
struct ReplayedMember {
  int number = 0;  // in order of appearance
  core::MemberIdentity identity;
  std::optional<uint32_t> rank;  // the latest rank

  // Returns "rank 3 (node n1, pid 4711)", or "process (node n1, pid 4711)" before it has a rank.
  std::string ToString() const;
};

// A call of one process: a call of its own, or its part of a NodeCollective.
struct ReplayedCall {
  const ReplayedMember* member = nullptr;  // never null
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  std::string operation;  // "Barrier('step 12')", "Join"
  std::string pattern;    // `operation` with "step #" as its name; equal for calls of one kind
  std::string group;      // of a collective: "the world"
  uint64_t sequence = 0;  // of a collective
  core::Time since;
  uint64_t id = 0;  // tells OnCall() and OnCallEnd() of one call apart from others
};

// A listener to what happens in a job, in order.
class NarrationListener {
 public:
  virtual ~NarrationListener() = default;
  virtual void OnDaemonStart(core::Time now, const core::Options& options) = 0;
  // Called when the narration begins in the middle of a job, or continues there after a gap.
  virtual void OnCheckpoint(core::Time now, const core::Options& options) = 0;
  virtual void OnEnd(core::Time now, const End& end) = 0;
  // Called when the process has a session, and when its stream has ended.
  virtual void OnAttached(core::Time now, const ReplayedMember& member) = 0;
  virtual void OnDetached(core::Time now, const ReplayedMember& member) = 0;
  // Called when a call begins, and when it ends. Every call that begins ends. For a call that is
  // answered at once, both times are equal.
  virtual void OnCall(const ReplayedCall& call) = 0;
  virtual void OnCallEnd(core::Time now, const ReplayedCall& call, const absl::Status& status) = 0;
  // Called when all ranks of a group have arrived.
  virtual void OnCompleted(core::Time now, const ReplayedCall& collective, size_t ranks) = 0;
  // Called when the process was told that its epoch is broken; `broken` names the lost members.
  virtual void OnEpochBroken(core::Time now, const ReplayedMember& member,
                             const core::EpochBroken& broken) = 0;
  virtual void OnLog(core::Time now, const core::LogLine& line) = 0;
};

// A narrator of a replay. Turns steps into events in the job's terms, such as calls, their ends and
// completed collectives, and tells them to a NarrationListener.
class JournalNarrator final : public ReplayObserver {
 public:
  explicit JournalNarrator(NarrationListener* listener) : listener_(listener) {}

  void OnStart(core::Time now, const core::Options& options) override;
  void OnCheckpoint(core::Time now, const core::Options& options,
                    const core::Checkpoint& checkpoint) override;
  void OnStep(const ReplayedStep& step) override;
  void OnEnd(core::Time now, const End& end) override;
  // Ends the calls that still wait. Call it at the end of the journal.
  void Finish(core::Time now);

  // Returns the processes, by number. They live as long as this object.
  const std::vector<std::unique_ptr<ReplayedMember>>& members() const { return members_; }

 private:
  ReplayedMember* Find(const core::MemberIdentity& identity);
  // Returns the process of the session, or null if there is none.
  ReplayedMember* FindBySession(const core::SessionId& session) const;
  void Begin(const ReplayedStep& step);
  struct Operation {
    std::string text;
    std::string pattern;  // as in ReplayedCall
  };
  template <typename LeaseRequest>
  static Operation DescribeLeaseOperation(absl::string_view verb, const LeaseRequest& request);
  static Operation DescribeCollective(const core::CollectiveRequest& request);
  void BeginCall(const ReplayedStep& step, const core::SessionId& session,
                 const Operation& operation, const core::CollectiveRequest* collective = nullptr);
  void OnReply(core::Time now, const core::Reply& reply);
  void AssignRanks(const core::JoinAnswer& place);
  void OnEvent(core::Time now, const core::StreamEvent& event);
  void EndCalls(core::Time now, core::WaiterId waiter, const absl::Status& status);
  void EndAllCalls(core::Time now, const absl::Status& status);
  void CloseStream(core::Time now, core::WaiterId stream);
  void ReportCompleted(core::Time now);
  // Forgets the previous daemon's sessions, streams and calls.
  void Reset();

  NarrationListener* const listener_;
  std::vector<std::unique_ptr<ReplayedMember>> members_;
  absl::flat_hash_map<core::Incarnation, ReplayedMember*> by_incarnation_;
  absl::flat_hash_map<uint64_t, ReplayedMember*> sessions_;       // by counter
  absl::flat_hash_map<core::WaiterId, ReplayedMember*> streams_;  // attached, or about to be
  std::map<core::WaiterId, std::vector<ReplayedCall>> calls_;     // parked calls; parts together
  // Collectives that the current step completes, with the number of ranks that it answers.
  std::vector<std::pair<ReplayedCall, size_t>> completed_;
  core::Time last_;  // time of the latest step
  core::EpochId epoch_;
  std::map<std::string, uint64_t> next_;  // sequence number of the next collective, by group
  uint64_t last_call_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_NARRATION_JOURNAL_NARRATOR_H_
