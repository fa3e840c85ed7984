#ifndef MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
#define MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/core/arrival.h"
#include "server/core/byte_budget.h"
#include "server/core/lateness.h"
#include "server/core/past_collective.h"
#include "server/core/stall_clock.h"
#include "server/core/types.h"

namespace muster::core {

// Whom a collective waits for: ranks of the world, sorted.
struct Absentees {
  std::vector<uint32_t> missing;  // have not come
  std::vector<uint32_t> gave_up;  // had come, and have stopped waiting
};

// One group's sequence of collectives: who has arrived at the current one, and the last completed
// one for those whose answer was lost.
//
// Arrivals are a set of ranks, never a count; a collective completes when every rank of the group
// is parked in it, or when a rank proves, after a restart of the coordinator, that it once did.
// What a rank called at a sequence number is fixed by its first send, withdrawn or not.
//
// An answer that would be too large is refused to all: whoever is parked at that number, and
// whoever comes to it later without knowing of the refusal, gets OUT_OF_RANGE. The number is not
// consumed, and contents are no longer fixed. Calls say how many refusals of their number they know
// of, and only calls that know of the same ones meet: so no rank completes what another was
// refused.
class CollectiveGroup {
 public:
  using Finished = FinishedCall;
  // Empty: the arrival is parked, or nothing changed.
  using Step = std::vector<FinishedCall>;

  // `ranks` are the world's, in the group's order. `budget` and `lateness`, which learns of each
  // collective that completes here, must outlive the group. `recovered`:
  // the group may be older than this coordinator, so that what a rank first says of itself, by a
  // claim or an arrival, can be ahead of it.
  CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                  uint64_t max_answer_bytes, ByteBudget* budget, LatenessBook* lateness);
  ~CollectiveGroup();
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;

  const GroupName& name() const { return name_; }
  const std::vector<uint32_t>& ranks() const { return ranks_; }
  const std::string& digest() const { return digest_; }  // empty of the world
  // "the world", "group 'tp' (ranks 0,2)".
  const std::string& description() const { return words_; }
  std::optional<uint32_t> IndexOf(uint32_t rank) const;

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

  // Ends every call that is parked in the current collective with this error. The sequence number
  // is not consumed.
  Step FailParked(const absl::Status& status);

  // A rank says that it has completed every collective below `next`, so these have completed. It
  // may say so of collectives that this coordinator has not seen when it is first heard of.
  // Otherwise, or where it and others contradict each other, the group is finished.
  Step Observe(uint32_t index, uint64_t next);
  // No collective of this group can succeed any more. The first text counts.
  Step FinishForGood(const std::string& text);

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
  void SetFirstAttempt(uint32_t index, uint64_t attempt) { standings_[index].first = attempt; }
  bool IsStale(uint32_t index, uint64_t attempt) const { return attempt < standings_[index].first; }

  // From the next completion on, answers say that a stop was requested; or they have said so since
  // that sequence number.
  void AskStop() { stop_asked_ = true; }
  void ObserveStop(uint64_t sequence) { stop_sequence_ = sequence; }

  // Ranks of the group that have called Leave.
  void NoteLeaver(uint32_t rank) { leavers_.insert(rank); }
  const std::set<uint32_t>& leavers() const { return leavers_; }

  // The rank is known to have this collective's result.
  bool HasCompleted(uint32_t index, uint64_t sequence) const { return next_[index] > sequence; }
  // The number of this call was refused to all ranks, which its caller does not know yet.
  bool HasRefused(const CollectiveRequest& request) const {
    return request.sequence == sequence_ && request.refusals < refusals_;
  }
  // The rank has completed the last collective, and others wait for its contribution to it.
  bool NeedsContributionOf(uint32_t index) const;
  // All such ranks, as ranks of the world; asked for when there may be new ones beside the rank
  // that the last step was about.
  std::vector<uint32_t> NeededContributors() const;
  bool TakeContributorNews() { return std::exchange(contributor_news_, false); }

  // Whom the collective waits for. Of the last completed one: whose contributions are missing.
  Absentees AbsentFrom(uint64_t sequence) const;
  // What `make` says of them, made once for all who ask at one time: thousands of waits may end
  // together, and whoever's wait ended at that time is not among the absent yet.
  const std::string& DescribeAbsence(Time now, uint64_t sequence,
                                     absl::FunctionRef<std::string()> make);
  // Ranks of the world that are parked in the current collective, sorted.
  std::vector<uint32_t> Arrived() const;
  bool pending() const { return parked_ > 0; }
  // Nobody has come to the current collective, and gone neither.
  bool between_collectives() const { return !sample_ && refusals_ == 0; }
  Time first_arrival() const { return first_arrival_; }
  Time last_arrival() const { return last_arrival_; }
  StallClock* stall() { return &stall_; }
  // The longest that such a collective has taken, from the first arrival to the last; infinite
  // while too few are known.
  absl::Duration SlowestSoFar() const;
  uint64_t sequence() const { return sequence_; }
  // "Barrier('x') op 3 of the world", of what `index` called at that sequence number.
  std::string OperationAt(uint32_t index, uint64_t sequence) const;
  // The same of a call that arrives; made once for ranks that call the same.
  std::shared_ptr<const std::string> Describe(const CollectiveRequest& request);
  // "Barrier('x')" of whoever is parked.
  std::string PendingOperation() const;
  // Why no collective of this group can succeed any more; empty: it can.
  const std::string& finished_text() const { return finished_; }
  // Whether it has finished for good since this was last asked.
  bool TakeFinishedNews() { return std::exchange(finished_news_, false); }
  // What was refused to all since this was last asked; empty: nothing.
  std::string TakeRefusalNews() { return std::exchange(refusal_news_, {}); }

 private:
  // What a rank has said of its need of the group.
  struct Standing {
    uint64_t attempt = 0;  // under which it has said so
    uint64_t first = 0;    // see SetFirstAttempt()
    bool heard = false;
    bool released = false;
  };
  // False, and nothing has changed: it has said something since.
  bool Say(uint32_t index, bool released, uint64_t attempt);

  static Step Only(WaiterId waiter, absl::Status status);
  static void Append(Step rest, Step* step);
  Step ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step Park(Time now, uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step ArriveAtPast(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  absl::Status CheckCurrent(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckRefusals(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckContent(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckPast(uint32_t index, const CollectiveRequest& request) const;
  absl::Status CheckRoom(uint32_t index, const CollectiveRequest& request) const;
  bool Disagrees(const CollectiveRequest& request) const;
  bool IsTooLarge(uint32_t index, const CollectiveRequest& request) const;
  Step RefuseToAll(uint32_t index, WaiterId waiter, const CollectiveRequest& request);
  Step StartAfterRefusal(uint32_t refusals, const std::string& text);
  std::string DescribeRefusal(uint32_t index, const CollectiveRequest& request) const;
  Step Mismatch();
  Step Complete();
  void NoteLateness(uint32_t last);
  // The rank says for the first time where it is, or says that it is ahead of the group.
  Step BelieveOrFinish(uint32_t index, uint64_t next);
  Step Contradiction(uint32_t ahead, uint64_t completed, uint32_t behind, uint64_t at);
  // Every collective below `next` has completed; the last of them becomes the past one.
  Step MoveOn(uint64_t next);
  void ForgetArrivals();
  // Marks the answers of the collective before the current one.
  void MarkStop(Step* step) const;

  const GroupName name_;
  const std::vector<uint32_t> ranks_;
  const std::string words_;
  const std::string digest_;
  const std::vector<std::pair<uint32_t, uint32_t>> by_rank_;  // rank and index, sorted
  const bool recovered_;
  const uint64_t max_answer_bytes_;
  ByteBudget* const budget_;
  LatenessBook* const lateness_;

  uint64_t sequence_ = 0;           // of the current collective
  std::vector<Arrival> arrivals_;   // at the current collective, one per rank
  std::optional<uint32_t> sample_;  // an arrival that was sent
  size_t parked_ = 0;
  uint64_t bytes_ = 0;
  Time first_arrival_;
  Time last_arrival_;
  StallClock stall_;

  // How often the current collective was refused to all, and the last time's error.
  uint32_t refusals_ = 0;
  absl::Status refusal_;
  std::string refusal_news_;

  std::string finished_;
  bool finished_news_ = false;
  bool contradicted_ = false;  // finished, and not even past collectives are what they seem

  PastCollective past_;         // the one before the current one
  std::vector<uint64_t> next_;  // what each rank has completed, as far as is known
  // What each rank has said first, to this coordinator, of the number of its next collective.
  std::vector<std::optional<uint64_t>> first_said_;
  bool contributor_news_ = false;
  std::set<uint32_t> leavers_;

  std::vector<Standing> standings_;
  size_t heard_ = 0;
  size_t released_ = 0;

  struct Words {
    Time at = absl::InfinitePast();
    uint64_t sequence = 0;
    std::string text;
  };
  std::array<Words, 2> absence_words_;  // of the current collective and the past one

  struct DescribedCall {
    Operation operation;
    uint64_t sequence = 0;
    std::shared_ptr<const std::string> words;
  };
  DescribedCall described_;  // the last one

  bool stop_asked_ = false;
  std::optional<uint64_t> stop_sequence_;  // the first whose answers carry the stop
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_COLLECTIVE_GROUP_H_
