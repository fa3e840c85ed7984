#ifndef MUSTER_SERVER_JOURNAL_STORY_H_
#define MUSTER_SERVER_JOURNAL_STORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/journal/replayer.h"

namespace muster::journal {

// A process of the job, over all of its sessions and of all daemons.
struct Actor {
  int number = 0;  // in the order of appearance
  core::MemberIdentity identity;
  std::optional<uint32_t> rank;  // the latest

  // "rank 3 (node n1, pid 4711)", or without a rank.
  std::string ToString() const;
};

// A call of one process, alone or as a part of what ranks of a node call together.
struct ToldCall {
  const Actor* actor = nullptr;  // never null
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  std::string operation;  // "Barrier('step 12')", "Join"
  std::string alike;  // the same with "step #" for its name: calls of one kind have it in common
  std::string group;  // "the world", of a collective
  uint64_t sequence = 0;  // of a collective
  core::Time since;
  uint64_t id = 0;  // the same from its begin to its end
};

// Hears what happens in a job, in the order in which it does.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnDaemon(core::Time now, const core::Options& options) = 0;
  // It begins here, or goes on after a gap, in the middle of a job.
  virtual void OnCheckpoint(core::Time now, const core::Options& options) = 0;
  virtual void OnEnd(core::Time now, const End& end) = 0;
  // The process has a session; or its stream has ended.
  virtual void OnAttached(core::Time now, const Actor& actor) = 0;
  virtual void OnDetached(core::Time now, const Actor& actor) = 0;
  // Every call that begins ends. Answers that come at once do both at one time.
  virtual void OnCall(const ToldCall& call) = 0;
  virtual void OnCallEnd(core::Time now, const ToldCall& call, const absl::Status& status) = 0;
  // All ranks of a group have come.
  virtual void OnCompleted(core::Time now, const ToldCall& collective, size_t ranks) = 0;
  // The process was told that its epoch is broken, by whose loss.
  virtual void OnBroken(core::Time now, const Actor& actor, const core::EpochBroken& broken) = 0;
  virtual void OnLog(core::Time now, const core::LogLine& line) = 0;
};

// Makes of the steps of a replay what people call them: who did what, and how long it took.
class Story final : public Observer {
 public:
  explicit Story(Listener* listener) : listener_(listener) {}

  void OnStart(core::Time now, const core::Options& options) override;
  void OnCheckpoint(core::Time now, const core::Options& options,
                    const core::Checkpoint& checkpoint) override;
  void OnStep(const ReplayedStep& step) override;
  void OnEnd(core::Time now, const End& end) override;
  // The journal has no more: ends the calls that wait.
  void Finish(core::Time now);

  // By number; they stay.
  const std::vector<std::unique_ptr<Actor>>& actors() const { return actors_; }

 private:
  Actor* Find(const core::MemberIdentity& identity);
  // Null if it is nobody's.
  Actor* OfSession(const core::SessionId& session) const;
  void Begin(const ReplayedStep& step);
  struct Operation {
    std::string text;
    std::string alike;  // as in ToldCall
  };
  template <typename LeaseRequest>
  static Operation LeaseCall(absl::string_view verb, const LeaseRequest& request);
  static Operation Collective(const core::CollectiveRequest& request);
  void BeginCall(const ReplayedStep& step, const core::SessionId& session,
                 const Operation& operation, const core::CollectiveRequest* collective = nullptr);
  void TakeReply(core::Time now, const core::Reply& reply);
  void TakePlaces(const core::JoinAnswer& place);
  void TakeEvent(core::Time now, const core::StreamEvent& event);
  void EndCalls(core::Time now, core::WaiterId waiter, const absl::Status& status);
  void EndAllCalls(core::Time now, const absl::Status& status);
  void CloseStream(core::Time now, core::WaiterId stream);
  void TellCompleted(core::Time now);
  // What is known of the daemon before does not hold any more.
  void Reset();

  Listener* const listener_;
  std::vector<std::unique_ptr<Actor>> actors_;
  absl::flat_hash_map<core::Incarnation, Actor*> by_incarnation_;
  absl::flat_hash_map<uint64_t, Actor*> sessions_;         // by counter
  absl::flat_hash_map<core::WaiterId, Actor*> streams_;    // attached, or about to be
  std::map<core::WaiterId, std::vector<ToldCall>> calls_;  // that wait; the parts of each
  // By the step under way, with the number of its ranks.
  std::vector<std::pair<ToldCall, size_t>> completed_;
  core::Time last_;  // of the latest step
  core::EpochId epoch_;
  std::map<std::string, uint64_t> next_;  // by group: its next collective
  uint64_t last_call_ = 0;
};

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_STORY_H_
