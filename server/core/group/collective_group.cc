#include "server/core/group/collective_group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/names/operation_names.h"
#include "server/core/api/describe.h"
#include "server/core/support/bounded_text.h"

namespace muster::core {
namespace {

// Bounds a text that goes to every rank: gRPC carries 8 KiB of an error's text.
constexpr size_t kMaxFinishedBytes = 6000;

}  // namespace

CollectiveGroup::CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                                 uint64_t max_answer_bytes, ByteBudget* budget,
                                 LatenessStats* lateness)
    : context_{RankGroup(std::move(name), std::move(ranks)), recovered, max_answer_bytes, budget,
               lateness},
      current_(&context_, 0),
      past_(group().size(), budget),
      progress_(group().size(), recovered),
      releases_(group().size()) {}

// ---- Arrivals ----

CollectiveGroup::Step CollectiveGroup::Arrive(Time now, uint32_t index, WaiterId waiter,
                                              const CollectiveRequest& request) {
  Step step;
  const bool tells_more = request.sequence > sequence() && progress_.IsTrusted(index);
  if (!progress_.IsKnown(index) || tells_more) step = Observe(index, request.sequence);
  if (!HasCompleted(index, request.sequence)) {
    releases_.Note(index, /*released=*/false, request.call.attempt);
  }
  texts_.ForgetAbsence();
  const bool past = request.sequence < sequence() && sequence() - request.sequence == 1;
  Append(past && !progress_.contradicted() ? ArriveAtPast(index, waiter, request)
                                           : ArriveAtCurrent(now, index, waiter, request),
         &step);
  return step;
}

CollectiveGroup::Step CollectiveGroup::ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter,
                                                       const CollectiveRequest& request) {
  if (!finished_.empty()) return EndCall(waiter, absl::FailedPreconditionError(finished_));
  Step step;
  const absl::Status parked = current_.Arrive(now, index, waiter, request, past_.bytes(), &step);
  if (!parked.ok()) {
    Append(EndCall(waiter, parked), &step);
    return step;
  }
  progress_.NoteParked(index, sequence());
  if (!current_.Agrees(index)) {
    Append(FinishForGood(current_.DescribeMismatch()), &step);
  } else if (current_.IsComplete()) {
    current_.NoteLateness(index);
    stop_.NoteCompletion(sequence());
    Append(MoveOn(sequence() + 1), &step);
  }
  return step;
}

// Serves a retry of the completed collective whose answer was lost, or a contribution that others
// need.
CollectiveGroup::Step CollectiveGroup::ArriveAtPast(uint32_t index, WaiterId waiter,
                                                    const CollectiveRequest& request) {
  if (absl::Status s = past_.Check(group(), index, request); !s.ok()) return EndCall(waiter, s);
  Step step;
  if (const WaiterId before = past_.Unpark(index); before != 0) {
    step = EndCall(before, absl::CancelledError("replaced by a later send of the same call"));
  }
  const bool was_needed = past_.WantsAny();
  const bool makes_answer = past_.Record(index, waiter, request);
  if (progress_.HasReached(index, sequence())) {  // it has the result, and only contributes
    step.push_back(
        {past_.Unpark(index), absl::OkStatus(), {std::make_shared<std::vector<Bytes>>()}});
  }
  Step rest = makes_answer ? past_.AnswerAll() : past_.Answer(index);
  contributor_news_ |= past_.WantsAny() && !was_needed;
  stop_.Mark(request.sequence, &rest);
  Append(std::move(rest), &step);
  return step;
}

void CollectiveGroup::Withdraw(uint32_t index, WaiterId waiter) {
  if (waiter == 0) return;
  if (past_.arrivals()[index].waiter == waiter) past_.Unpark(index);
  current_.Withdraw(index, waiter);
}

absl::Status CollectiveGroup::WithdrawBelow(uint32_t index, uint64_t sequence, uint64_t attempt,
                                            Step* step) {
  const uint64_t current = current_.sequence();
  if (sequence > current) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", ranks()[index], " takes back its arrival at op ", sequence, " of ",
                     description(), ", which is at op ", current));
  }
  WaiterId given_up = 0;
  if (sequence == current) given_up = current_.WithdrawBelow(index, attempt);
  if (current - sequence == 1) given_up = past_.UnparkBelow(index, attempt);
  if (given_up != 0) {
    Append(EndCall(given_up, absl::CancelledError("the caller has given this send up")), step);
  }
  return absl::OkStatus();
}

// ---- Progress of the ranks ----

CollectiveGroup::Step CollectiveGroup::Observe(uint32_t index, uint64_t next) {
  const auto contradiction = progress_.Observe(index, next, sequence());
  if (contradiction) return FinishContradicted(*contradiction);
  return next > sequence() ? MoveOn(next) : Step();
}

CollectiveGroup::Step CollectiveGroup::TakeCommit(Time now, uint32_t index,
                                                  const CommitReport::Commit& commit) {
  reported_below_.resize(group().size());
  reported_below_[index] = commit.sequence + 1;
  Arrivals arrivals;
  const auto latest = std::max_element(commit.delays.begin(), commit.delays.end());
  arrivals.last = latest - commit.delays.begin();
  arrivals.completed = now;
  arrivals.times.reserve(commit.delays.size());
  for (const absl::Duration delay : commit.delays) arrivals.times.push_back(now - *latest + delay);
  context_.lateness->Note({description(), name().name}, commit, ranks(), arrivals);
  texts_.ForgetAbsence();
  return Observe(index, commit.sequence + 1);
}

CollectiveGroup::Step CollectiveGroup::FinishContradicted(
    const RankProgress::Contradiction& contradiction) {
  const auto& [ahead, completed, behind, at] = contradiction;
  const std::string other = ahead == behind
                                ? absl::StrCat("the coordinator has it at op ", at)
                                : absl::StrCat("rank ", ranks()[behind], " is at op ", at);
  Step step = FinishForGood(absl::StrCat(
      "rank ", ranks()[ahead], " says that it has completed op ", completed, " of ", description(),
      ", but ", other, "; no rank of a group can be more than one collective ahead of another, so ",
      "one of them has skipped or repeated a collective"));
  const absl::Status status = absl::FailedPreconditionError(finished_);
  for (WaiterId waiter : past_.UnparkAll()) step.push_back({waiter, status, {}});
  return step;
}

CollectiveGroup::Step CollectiveGroup::MoveOn(uint64_t next) {
  // Only a program that breaks the rules of the collectives can be that far behind, or a send that
  // its caller has given up and that was not withdrawn yet.
  const auto over = [&] {
    return absl::FailedPreconditionError(
        absl::StrCat("op ", next - 1, " of ", description(),
                     " has completed; a process must not repeat collectives from before it"));
  };
  Step step;
  for (WaiterId waiter : past_.UnparkAll()) step.push_back({waiter, over(), {}});
  if (next == sequence() + 1) {
    past_ = std::move(current_).ToPast();
  } else {
    Append(current_.FailParked(over()), &step);
    past_ = PastCollective(group().size(), context_.budget);
  }
  current_ = CurrentCollective(&context_, next);
  Step rest = past_.AnswerAll();
  contributor_news_ |= past_.WantsAny();
  stop_.Mark(next - 1, &rest);
  Append(std::move(rest), &step);
  return step;
}

CollectiveGroup::Step CollectiveGroup::FinishForGood(const std::string& text) {
  if (!finished_.empty()) return {};
  finished_ = Shortened(text, kMaxFinishedBytes);
  finished_news_ = true;
  return current_.Abandon(absl::FailedPreconditionError(finished_));
}

bool CollectiveGroup::NeedsContributionOf(uint32_t index) const {
  return past_.Wants(index) && progress_.HasReached(index, sequence());
}

std::vector<uint32_t> CollectiveGroup::NeededContributors() const {
  std::vector<uint32_t> needed;
  for (uint32_t index : past_.Wanted()) {
    if (progress_.HasReached(index, sequence())) needed.push_back(ranks()[index]);
  }
  return needed;
}

// ---- Releases ----

// Also withdraws sends of the rank under lower attempts that have not arrived yet.
CollectiveGroup::Step CollectiveGroup::Release(uint32_t index, uint64_t next, uint64_t attempt) {
  if (!releases_.Note(index, /*released=*/true, attempt)) return {};
  Step step = Observe(index, next);
  // cannot fail: the number is the current one
  WithdrawBelow(index, sequence(), attempt, &step).IgnoreError();
  return step;
}

CollectiveGroup::Step CollectiveGroup::Retain(uint32_t index, uint64_t next, uint64_t attempt) {
  releases_.Note(index, /*released=*/false, attempt);
  return Observe(index, next);
}

bool CollectiveGroup::IsReleasedBy(uint32_t rank) const {
  const std::optional<uint32_t> index = IndexOf(rank);
  return !index || releases_.IsReleasedBy(*index);
}

// Requires a release by every rank once a collective has completed. Before that, a rank may not
// know of the group at all, so only the ranks that were heard must have released it.
bool CollectiveGroup::IsReleased() const {
  if (releases_.released() == 0 || current_.pending() || past_.WantsAny() || !finished_.empty()) {
    return false;
  }
  const size_t unaware = sequence() == 0 ? group().size() - releases_.heard() : 0;
  return releases_.released() + unaware == group().size() && progress_.AreAllAt(sequence());
}

std::vector<uint32_t> CollectiveGroup::HeardRanks() const {
  std::vector<uint32_t> heard;
  for (uint32_t index = 0; index < group().size(); ++index) {
    if (releases_.IsHeard(index)) heard.push_back(ranks()[index]);
  }
  return heard;
}

// ---- Descriptions ----

Absentees CollectiveGroup::AbsentFrom(uint64_t sequence) const {
  if (sequence >= current_.sequence()) return current_.Absent();
  Absentees absent;
  for (const auto& [rank, index] : group().by_rank()) {
    if (past_.Wants(index)) absent.missing.push_back(rank);
  }
  return absent;
}

std::string CollectiveGroup::OperationAt(uint32_t index, uint64_t sequence) const {
  const Arrival& arrival =
      sequence < current_.sequence() ? past_.arrivals()[index] : current_.arrival(index);
  return muster::DescribeStep(DescribeOperation(arrival), sequence, description());
}

CollectiveGroup::News CollectiveGroup::TakeNews() {
  return {std::exchange(finished_news_, false), std::exchange(contributor_news_, false),
          current_.TakeNewRefusal()};
}

}  // namespace muster::core
