#ifndef MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
#define MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/agreed_stop.h"
#include "server/core/collective_texts.h"
#include "server/core/current_collective.h"
#include "server/core/finished_call.h"
#include "server/core/past_collective.h"
#include "server/core/rank_progress.h"
#include "server/core/rank_standings.h"

namespace muster::core {

// One group's sequence of collectives: the current one, and the last completed one for the ranks
// whose answer was lost.
//
// A collective completes when every rank of the group is parked in it, or when a rank proves, after
// a restart of the coordinator, that it once did. A collective that fails, or is refused to all,
// does not consume its sequence number. Where ranks disagree or contradict each other, the group is
// finished: no collective of it can succeed any more.
class CollectiveGroup {
 public:
  // Empty: the arrival is parked, or nothing changed.
  using Step = FinishedCalls;

  // `ranks` are the world's, in the group's order. `budget` and `lateness`, which learns of each
  // collective that completes here, must outlive the group. `recovered`: the group may be older
  // than this coordinator, so that what a rank first says of itself, by a claim or an arrival, can
  // be ahead of it.
  CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                  uint64_t max_answer_bytes, ByteBudget* budget, LatenessBook* lateness);
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  const GroupName& name() const { return group().name(); }
  const std::vector<uint32_t>& ranks() const { return group().ranks(); }
  const std::string& digest() const { return group().digest(); }  // empty of the world
  // "the world", "group 'tp' (ranks 0,2)".
  const std::string& description() const { return group().description(); }
  std::optional<uint32_t> IndexOf(uint32_t rank) const { return group().IndexOf(rank); }

  const CurrentCollective& current() const { return current_; }
  uint64_t sequence() const { return current_.sequence(); }

  // A rank arrives. `request` must be valid for the group (root in range, payload within its
  // limit, a sequence number that can be counted on from). Parks it, or finishes: it alone
  // (refused, or answered from the last result), or all that are parked.
  Step Arrive(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);

  // The waiter no longer waits: its arrival does not count any more. Unknown waiters are ignored.
  void Withdraw(uint32_t index, WaiterId waiter);
  // The rank takes back what it has sent at this number under lower attempts, or may yet be found
  // to have sent: no such send counts any more. FAILED_PRECONDITION if the number is ahead of the
  // group's.
  absl::Status WithdrawBelow(uint32_t index, uint64_t sequence, uint64_t attempt, Step* step);
  // Ends every call that is parked in the current collective with this error.
  Step FailParked(const absl::Status& status) { return current_.FailParked(status); }

  // A rank says that it has completed every collective below `next`, so these have completed. It
  // may say so of collectives that this coordinator has not seen when it is first heard of.
  // Otherwise, or where it and others contradict each other, the group is finished.
  Step Observe(uint32_t index, uint64_t next);
  // No collective of this group can succeed any more. The first text counts.
  Step FinishForGood(const std::string& text);
  // Why no collective of this group can succeed any more; empty: it can.
  const std::string& finished_text() const { return finished_; }

  // The program of the rank has let the group go, or has not, as the rank has said under that
  // attempt; the rank has completed every collective below `next`. Attempts decide what it has said
  // last: an arrival at a collective that it has not completed takes the release back.
  Step Release(uint32_t index, uint64_t next, uint64_t attempt);
  Step Retain(uint32_t index, uint64_t next, uint64_t attempt);
  bool IsReleasedBy(uint32_t rank) const;  // true of ranks that are not in the group
  // All ranks have let it go, and need nothing of it any more.
  bool IsReleased() const;
  // Ranks of the world that have said anything of it.
  std::vector<uint32_t> HeardRanks() const;
  // What the rank has sent under lower attempts may be of an earlier group of the same ranks.
  void SetFirstAttempt(uint32_t index, uint64_t attempt) {
    standings_.SetFirstAttempt(index, attempt);
  }
  bool IsStale(uint32_t index, uint64_t attempt) const {
    return standings_.IsStale(index, attempt);
  }

  // Ranks of the group that have called Leave.
  void NoteLeaver(uint32_t rank) { leavers_.insert(rank); }
  const std::set<uint32_t>& leavers() const { return leavers_; }

  AgreedStop& stop() { return stop_; }
  CollectiveTexts& texts() { return texts_; }
  StallClock* stall() { return current_.stall(); }

  // The rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const {
    return progress_.HasCompleted(index, sequence);
  }
  // The rank has completed the last collective, and others wait for its contribution to it.
  bool NeedsContributionOf(uint32_t index) const;
  // All such ranks, as ranks of the world; asked for when there may be new ones beside the rank
  // that the last step was about.
  std::vector<uint32_t> NeededContributors() const;

  // Whom the collective waits for. Of the last completed one: whose contributions are missing.
  Absentees AbsentFrom(uint64_t sequence) const;
  // "Barrier('x') op 3 of the world", of what `index` called at that sequence number.
  std::string OperationAt(uint32_t index, uint64_t sequence) const;

  // What has happened since this was last asked.
  struct News {
    bool finished = false;      // for good
    bool contributors = false;  // there may be new NeededContributors()
    std::string refused;        // what was refused to all; empty: nothing
  };
  News TakeNews();

 private:
  const RankGroup& group() const { return context_.group; }
  Step ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step ArriveAtPast(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step FinishContradicted(const RankProgress::Contradiction& contradiction);
  // Every collective below `next` has completed; the last of them becomes the past one.
  Step MoveOn(uint64_t next);

  const GroupContext context_;
  CurrentCollective current_;
  PastCollective past_;  // the one before the current one
  RankProgress progress_;
  RankStandings standings_;
  std::set<uint32_t> leavers_;
  AgreedStop stop_;
  CollectiveTexts texts_;

  std::string finished_;
  bool finished_news_ = false;
  bool contributor_news_ = false;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
