#include "server/core/group/current_collective.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/names/operation_names.h"
#include "server/core/api/answer_size.h"
#include "server/core/api/describe.h"
#include "server/core/group/disagreement.h"

namespace muster::core {
namespace {

bool HasAnswerOfAll(CollectiveKind kind) {
  return kind == CollectiveKind::kGather || kind == CollectiveKind::kAllGather;
}

}  // namespace

CurrentCollective::CurrentCollective(const GroupContext* context, uint64_t sequence)
    : context_(context),
      sequence_(sequence),
      arrivals_(context->group.size()),
      payloads_(context->budget) {}

// ---- Arrivals ----

absl::Status CurrentCollective::Arrive(Time now, uint32_t index, WaiterId waiter,
                                       const CollectiveRequest& request, uint64_t past_bytes,
                                       FinishedCalls* done) {
  if (absl::Status s = Check(index, request); !s.ok()) return s;
  if (request.refusals > refusals_) LearnOfRefusals(index, request.refusals, done);
  if (IsTooLarge(index, request)) return RefuseToAll(index, request, done);
  if (absl::Status s = CheckRoom(index, request, past_bytes); !s.ok()) return s;
  Park(now, index, waiter, request, done);
  return absl::OkStatus();
}

absl::Status CurrentCollective::Check(uint32_t index, const CollectiveRequest& request) const {
  const uint32_t rank = group().ranks()[index];
  if (request.sequence != sequence_) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", rank, " called op ", request.sequence, " of ", group().description(),
                     ", which is at op ", sequence_,
                     "; a process must not skip or repeat completed collectives"));
  }
  if (request.refusals < refusals_) return refusal_;
  // An earlier coordinator may have refused the collective, which this one does not know.
  if (request.refusals == refusals_ || context_->recovered) return CheckContent(index, request);
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", rank, " says that op ", sequence_, " of ", group().description(), " was refused ",
      request.refusals, " times; the coordinator has refused it ", refusals_, " times"));
}

absl::Status CurrentCollective::CheckContent(uint32_t index,
                                             const CollectiveRequest& request) const {
  const Arrival& arrival = arrivals_[index];
  if (request.call.attempt < arrival.withdrawn_below) {
    return absl::CancelledError("this send of the call was given up before it arrived");
  }
  if (!arrival.sent || request.refusals > refusals_) return absl::OkStatus();
  // A late duplicate of a call that was withdrawn must not count.
  if (request.call.attempt <= arrival.attempt) {
    return absl::CancelledError("this send of the call, or a later one, has arrived before");
  }
  if (arrival.IsRepeatedBy(request)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "op ", sequence_, " of ", group().description(), " was first sent as ",
      DescribeOperation(arrival), " and must be repeated with the same content, not as ",
      DescribeOperation(request)));
}

void CurrentCollective::Park(Time now, uint32_t index, WaiterId waiter,
                             const CollectiveRequest& request, FinishedCalls* done) {
  Arrival& arrival = arrivals_[index];
  if (!arrival.sent) payloads_.Set(payloads_.bytes() + request.payload->size());
  if (const WaiterId before = Unpark(index); before != 0) {
    Append(EndCall(before, absl::CancelledError("replaced by a later send of the same call")),
           done);
  }
  if (parked_ == 0) first_arrival_ = now;
  last_arrival_ = now;
  stall_.Restart(now);
  if (!arrival.sent) arrival.at = now;
  arrival.Record(waiter, request);
  ++parked_;
  if (!sample_) sample_ = index;
}

WaiterId CurrentCollective::Unpark(uint32_t index) {
  Arrival& arrival = arrivals_[index];
  if (arrival.waiter != 0) --parked_;
  return std::exchange(arrival.waiter, 0);
}

// Compares with any one earlier call, because all of them agree with each other.
bool CurrentCollective::Agrees(uint32_t index) const {
  return SameOperation(arrivals_[*sample_], arrivals_[index]);
}

std::string CurrentCollective::DescribeMismatch() const {
  // If the SDK has made the group for one of its own calls, the program cannot know the group's
  // sequence numbers. So the text names the call instead.
  const std::string& words = group().description();
  const std::string known = ProgramGroupText(words);
  const std::string what =
      known == words ? absl::StrCat("op ", sequence_, " of ", words) : "a call of " + known;
  return absl::StrCat("ranks disagree on ", what, ": ",
                      DescribeDisagreement(group().ranks(), arrivals_),
                      "; all ranks must call the same collectives in the same order");
}

// ---- Limits ----

// Returns whether this payload makes the answer too large. Contents are fixed, so the collective
// could then never complete. If the ranks disagree, returns false, so that the disagreement is
// reported instead.
bool CurrentCollective::IsTooLarge(uint32_t index, const CollectiveRequest& request) const {
  if (arrivals_[index].sent || !HasAnswerOfAll(request.kind)) return false;
  const uint64_t bytes = payloads_.bytes() + request.payload->size();
  if (AnswerBytes(bytes, group().size()) <= context_->max_answer_bytes) return false;
  return !sample_ || SameOperation(arrivals_[*sample_], request);
}

// Checks the room for the payload and, at the last arrival, for the answer, which holds all
// payloads a second time. By then every rank has the result of the previous collective, so its
// `past_bytes` will be released.
absl::Status CurrentCollective::CheckRoom(uint32_t index, const CollectiveRequest& request,
                                          uint64_t past_bytes) const {
  const Arrival& arrival = arrivals_[index];
  const uint64_t payload = arrival.sent ? 0 : request.payload->size();
  const bool is_last = parked_ + (arrival.waiter == 0) == arrivals_.size();
  if (!is_last) return context_->budget->Check(payload);
  return context_->budget->Check(payload + payloads_.bytes() + payload, past_bytes);
}

std::string CurrentCollective::DescribeRefusal(uint32_t index,
                                               const CollectiveRequest& request) const {
  const std::vector<uint32_t>& ranks = group().ranks();
  std::vector<Contribution> contributions = {{ranks[index], request.payload->size()}};
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].sent) contributions.push_back({ranks[i], arrivals_[i].payload->size()});
  }
  const uint64_t bytes = AnswerBytes(payloads_.bytes() + request.payload->size(), ranks.size());
  return absl::StrCat(
      muster::DescribeStep(DescribeOperation(request), sequence_, group().description()),
      " is refused for all its ranks: ",
      DescribeTooLarge(std::move(contributions), bytes, context_->max_answer_bytes),
      ". Nothing was recorded: all ranks may call again, with smaller payloads");
}

absl::Status CurrentCollective::RefuseToAll(uint32_t index, const CollectiveRequest& request,
                                            FinishedCalls* done) {
  new_refusal_ = DescribeRefusal(index, request);
  refusal_ = absl::OutOfRangeError(new_refusal_);
  ++refusals_;
  Append(Abandon(refusal_), done);
  return refusal_;
}

void CurrentCollective::LearnOfRefusals(uint32_t index, uint32_t refusals, FinishedCalls* done) {
  refusal_ = absl::OutOfRangeError(absl::StrCat(
      "op ", sequence_, " of ", group().description(),
      " was refused for all its ranks before the coordinator was restarted, as rank ",
      group().ranks()[index],
      " reports: its answer was too large (musterd --max-answer-bytes raises the limit). ",
      "Nothing was recorded: all ranks may call again, with smaller payloads"));
  refusals_ = refusals;
  Append(Abandon(refusal_), done);
}

// ---- Completion and withdrawal ----

void CurrentCollective::NoteLateness(uint32_t last) const {
  Arrivals arrivals;
  arrivals.times.reserve(arrivals_.size());
  for (const Arrival& arrival : arrivals_) arrivals.times.push_back(arrival.at);
  arrivals.last = last;
  arrivals.completed = last_arrival_;
  context_->lateness->Note({group().description(), group().name().name}, arrivals_[last],
                           group().ranks(), arrivals);
}

PastCollective CurrentCollective::ToPast() && {
  return PastCollective(std::move(arrivals_), std::move(payloads_));
}

void CurrentCollective::Withdraw(uint32_t index, WaiterId waiter) {
  if (arrivals_[index].waiter == waiter) Unpark(index);
}

WaiterId CurrentCollective::WithdrawBelow(uint32_t index, uint64_t attempt) {
  Arrival& arrival = arrivals_[index];
  arrival.withdrawn_below = std::max(arrival.withdrawn_below, attempt);
  return arrival.attempt < attempt ? Unpark(index) : 0;
}

FinishedCalls CurrentCollective::FailParked(const absl::Status& status) {
  FinishedCalls done;
  for (uint32_t index = 0; parked_ > 0; ++index) {
    if (const WaiterId waiter = Unpark(index); waiter != 0) done.push_back({waiter, status, {}});
  }
  return done;
}

FinishedCalls CurrentCollective::Abandon(const absl::Status& status) {
  FinishedCalls done = FailParked(status);
  arrivals_.assign(group().size(), Arrival());
  sample_.reset();
  payloads_.Set(0);
  return done;
}

// ---- Descriptions ----

Absentees CurrentCollective::Absent() const {
  Absentees absent;
  for (const auto& [rank, index] : group().by_rank()) {
    const Arrival& arrival = arrivals_[index];
    if (arrival.waiter == 0) (arrival.sent ? absent.gave_up : absent.missing).push_back(rank);
  }
  return absent;
}

std::vector<uint32_t> CurrentCollective::Arrived() const {
  std::vector<uint32_t> arrived;
  for (const auto& [rank, index] : group().by_rank()) {
    if (arrivals_[index].waiter != 0) arrived.push_back(rank);
  }
  return arrived;
}

std::string CurrentCollective::PendingOperation() const {
  for (const Arrival& arrival : arrivals_) {
    if (arrival.waiter != 0) return DescribeOperation(arrival);
  }
  return "";
}

absl::Duration CurrentCollective::SlowestSoFar() const {
  if (!sample_) return absl::InfiniteDuration();
  return context_->lateness->Slowest(group().description(), arrivals_[*sample_], group().ranks());
}

}  // namespace muster::core
