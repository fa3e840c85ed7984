#ifndef MUSTER_SERVER_CORE_GROUP_COLLECTIVE_GROUP_H_
#define MUSTER_SERVER_CORE_GROUP_COLLECTIVE_GROUP_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/group/agreed_stop.h"
#include "server/core/group/collective_text_cache.h"
#include "server/core/group/current_collective.h"
#include "server/core/group/finished_call.h"
#include "server/core/group/past_collective.h"
#include "server/core/group/rank_progress.h"
#include "server/core/group/rank_releases.h"

namespace muster::core {

// The sequence of collectives of one group: the current one, and the last completed one for ranks
// whose answer was lost.
//
// A collective completes when every rank of the group is parked in it. After a restart of the
// coordinator it also completes when a rank proves that it once did. A collective that fails, or is
// refused to all, does not consume its sequence number. If ranks disagree or contradict each other,
// the group is finished: none of its collectives can succeed any more.
class CollectiveGroup {
 public:
  // The calls that end. If there are none, the arrival is parked or nothing changed.
  using Step = FinishedCalls;

  // `ranks` are ranks of the world, in the group's order. `budget` and `lateness` must outlive the
  // group; `lateness` learns of each collective that completes here. `recovered` means that the
  // group may be older than this coordinator. Then the first claim or arrival of a rank may be
  // ahead of the coordinator.
  CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                  uint64_t max_answer_bytes, ByteBudget* budget, LatenessStats* lateness);
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  const GroupName& name() const { return group().name(); }
  const std::vector<uint32_t>& ranks() const { return group().ranks(); }
  const std::string& digest() const { return group().digest(); }  // empty for the world
  // Returns "the world" or text such as "group 'tp' (ranks 0,2)".
  const std::string& description() const { return group().description(); }
  std::optional<uint32_t> IndexOf(uint32_t rank) const { return group().IndexOf(rank); }

  const CurrentCollective& current() const { return current_; }
  uint64_t sequence() const { return current_.sequence(); }

  // Takes the arrival of a rank. `request` must be valid for the group: its root is in range, its
  // payload is within the limit, and HasSuccessor() holds for its sequence number. Parks the
  // call, or finishes calls: this one alone (refused, or answered from the last result), or all
  // that are parked.
  Step Arrive(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);

  // Takes back the arrival of this waiter, which no longer waits. Unknown waiters are ignored.
  void Withdraw(uint32_t index, WaiterId waiter);
  // Takes back every send of the rank at this sequence number under a lower attempt, including
  // sends that arrive later. Returns FAILED_PRECONDITION if the number is ahead of the group.
  absl::Status WithdrawBelow(uint32_t index, uint64_t sequence, uint64_t attempt, Step* step);
  // Ends every call that is parked in the current collective with this error.
  Step FailParked(const absl::Status& status) { return current_.FailParked(status); }

  // Notes that the rank says that it has completed every collective below `next`. So these have
  // completed. A rank may name collectives that this coordinator has not seen, but only when it is
  // first heard of, or if it is trusted. If another rank does so later, or contradicts another
  // rank, the group is finished.
  Step Observe(uint32_t index, uint64_t next);
  // Notes that all ranks are on one node.
  void SetOnOneNode() { on_one_node_ = true; }
  bool on_one_node() const { return on_one_node_; }
  // Believes the rank's word at any time, in a group on one node: see RankProgress::Trust().
  void Trust(uint32_t index) {
    if (on_one_node_) progress_.Trust(index);
  }
  bool IsTrusted(uint32_t index) const { return progress_.IsTrusted(index); }
  // Takes a collective that the rank has completed for all ranks on its node. `commit` must have a
  // delay for each rank. A rank reports its commits in order: HasReported() tells a repeated one.
  bool HasReported(uint32_t index, uint64_t sequence) const {
    return index < reported_below_.size() && sequence < reported_below_[index];
  }
  Step TakeCommit(Time now, uint32_t index, const CommitReport::Commit& commit);
  // Finishes the group: none of its collectives can succeed any more. The first text counts.
  Step FinishForGood(const std::string& text);
  // Returns why the group is finished, or an empty text if it is not.
  const std::string& finished_text() const { return finished_; }

  // Notes what the rank said under this attempt: its program has released the group, or has
  // retained it. Either way, the rank has completed every collective below `next`. The highest
  // attempt decides. An arrival at a collective that the rank has not completed takes the release
  // back.
  Step Release(uint32_t index, uint64_t next, uint64_t attempt);
  Step Retain(uint32_t index, uint64_t next, uint64_t attempt);
  bool IsReleasedBy(uint32_t rank) const;  // true for ranks outside the group
  // Returns whether all ranks have released the group and need nothing of it any more.
  bool IsReleased() const;
  // Returns the ranks of the world from which anything about the group was heard.
  std::vector<uint32_t> HeardRanks() const;
  // Sets the attempt below which sends of the rank may belong to an earlier group of the same
  // ranks.
  void SetFirstAttempt(uint32_t index, uint64_t attempt) {
    releases_.SetFirstAttempt(index, attempt);
  }
  bool IsStale(uint32_t index, uint64_t attempt) const { return releases_.IsStale(index, attempt); }

  // Notes and returns ranks of the group that have called Leave.
  void NoteLeaver(uint32_t rank) { leavers_.insert(rank); }
  const std::set<uint32_t>& leavers() const { return leavers_; }

  AgreedStop& stop() { return stop_; }
  CollectiveTextCache& texts() { return texts_; }
  StallClock* stall() { return current_.stall(); }

  // Returns whether the rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const {
    return progress_.HasCompleted(index, sequence);
  }
  // Returns whether the rank has completed the last collective and others wait for its contribution
  // to it.
  bool NeedsContributionOf(uint32_t index) const;
  // Returns all such ranks, as ranks of the world. Needed if there may be others beside the rank
  // that the last step was about.
  std::vector<uint32_t> NeededContributors() const;

  // Returns the ranks that the collective waits for. For the last completed one: the ranks whose
  // contributions are missing.
  Absentees AbsentFrom(uint64_t sequence) const;
  // Describes the call of `index` at that sequence number: "Barrier('x') op 3 of the world".
  std::string OperationAt(uint32_t index, uint64_t sequence) const;

  // The changes since the last TakeNews().
  struct News {
    bool finished = false;      // the group is finished
    bool contributors = false;  // there may be new NeededContributors()
    std::string refused;        // what was refused to all ranks; empty: nothing
  };
  News TakeNews();

 private:
  const RankGroup& group() const { return context_.group; }
  Step ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step ArriveAtPast(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step FinishContradicted(const RankProgress::Contradiction& contradiction);
  // Completes every collective below `next`. The last of them becomes the past one.
  Step MoveOn(uint64_t next);

  const GroupContext context_;
  CurrentCollective current_;
  PastCollective past_;  // the one before the current one
  RankProgress progress_;
  RankReleases releases_;
  bool on_one_node_ = false;
  std::vector<uint64_t> reported_below_;  // by rank, once one has reported a commit
  std::set<uint32_t> leavers_;
  AgreedStop stop_;
  CollectiveTextCache texts_;

  std::string finished_;
  bool finished_news_ = false;
  bool contributor_news_ = false;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_COLLECTIVE_GROUP_H_
