#include "server/core/collective_group.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/group_digest.h"
#include "common/operation_words.h"
#include "server/core/answer_size.h"
#include "server/core/bounded_text.h"
#include "server/core/describe.h"
#include "server/core/disagreement.h"

namespace muster::core {
namespace {

// Everybody is told, and gRPC carries 8 KiB of an error's text.
constexpr size_t kMaxFinishedBytes = 6000;

std::vector<std::pair<uint32_t, uint32_t>> ByRank(const std::vector<uint32_t>& ranks) {
  std::vector<std::pair<uint32_t, uint32_t>> by_rank;
  for (uint32_t i = 0; i < ranks.size(); ++i) by_rank.emplace_back(ranks[i], i);
  std::sort(by_rank.begin(), by_rank.end());
  return by_rank;
}

bool HasAnswerOfAll(CollectiveKind kind) {
  return kind == CollectiveKind::kGather || kind == CollectiveKind::kAllGather;
}

}  // namespace

CollectiveGroup::CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                                 uint64_t max_answer_bytes, ByteBudget* budget,
                                 LatenessBook* lateness)
    : name_(std::move(name)),
      ranks_(std::move(ranks)),
      words_(DescribeGroup(name_)),
      digest_(name_.name.empty() ? "" : GroupDigest(name_.name, name_.ranks)),
      by_rank_(ByRank(ranks_)),
      recovered_(recovered),
      max_answer_bytes_(max_answer_bytes),
      budget_(budget),
      lateness_(lateness),
      arrivals_(ranks_.size()),
      past_(ranks_.size()),
      next_(ranks_.size()),
      first_said_(ranks_.size(), recovered ? std::nullopt : std::make_optional<uint64_t>(0)),
      standings_(ranks_.size()) {}

CollectiveGroup::~CollectiveGroup() { budget_->Release(bytes_ + past_.bytes()); }

std::optional<uint32_t> CollectiveGroup::IndexOf(uint32_t rank) const {
  const auto it = std::lower_bound(by_rank_.begin(), by_rank_.end(), std::make_pair(rank, 0u));
  if (it == by_rank_.end() || it->first != rank) return std::nullopt;
  return it->second;
}

CollectiveGroup::Step CollectiveGroup::Only(WaiterId waiter, absl::Status status) {
  return {{waiter, std::move(status), {}}};
}

void CollectiveGroup::Append(Step rest, Step* step) {
  if (step->empty()) {
    *step = std::move(rest);
    return;
  }
  std::move(rest.begin(), rest.end(), std::back_inserter(*step));
}

// ---- Arrivals at the current collective ----

CollectiveGroup::Step CollectiveGroup::Arrive(Time now, uint32_t index, WaiterId waiter,
                                              const CollectiveRequest& request) {
  Step step;
  if (!first_said_[index]) step = Observe(index, request.sequence);
  if (!HasCompleted(index, request.sequence)) Say(index, /*released=*/false, request.call.attempt);
  const bool past = request.sequence < sequence_ && sequence_ - request.sequence == 1;
  for (Words& words : absence_words_) words.at = absl::InfinitePast();
  Append(past && !contradicted_ ? ArriveAtPast(index, waiter, request)
                                : ArriveAtCurrent(now, index, waiter, request),
         &step);
  return step;
}

absl::Status CollectiveGroup::CheckCurrent(uint32_t index, const CollectiveRequest& request) const {
  if (!finished_.empty()) return absl::FailedPreconditionError(finished_);
  if (request.sequence == sequence_) return CheckRefusals(index, request);
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", ranks_[index], " called op ", request.sequence, " of ", words_, ", which is at op ",
      sequence_, "; a process must not skip or repeat completed collectives"));
}

absl::Status CollectiveGroup::CheckRefusals(uint32_t index,
                                            const CollectiveRequest& request) const {
  if (request.refusals < refusals_) return refusal_;
  // An earlier coordinator may have refused what this one knows nothing of.
  if (request.refusals == refusals_ || recovered_) return CheckContent(index, request);
  return absl::FailedPreconditionError(absl::StrCat(
      "rank ", ranks_[index], " says that op ", sequence_, " of ", words_, " was refused ",
      request.refusals, " times; it was refused ", refusals_, " times"));
}

absl::Status CollectiveGroup::CheckContent(uint32_t index, const CollectiveRequest& request) const {
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
      "op ", sequence_, " of ", words_, " was first sent as ", DescribeOperation(arrival),
      " and must be repeated with the same content, not as ", DescribeOperation(request)));
}

CollectiveGroup::Step CollectiveGroup::ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter,
                                                       const CollectiveRequest& request) {
  if (absl::Status s = CheckCurrent(index, request); !s.ok()) return Only(waiter, s);
  Step step;
  if (request.refusals > refusals_) {
    step = StartAfterRefusal(
        request.refusals,
        absl::StrCat("op ", sequence_, " of ", words_, " was refused to all its ranks before the ",
                     "coordinator was restarted, as rank ", ranks_[index],
                     " knows: its answer was too large (musterd --max-answer-bytes). Nothing was ",
                     "recorded: all ranks may call again, with smaller payloads"));
  }
  if (IsTooLarge(index, request)) {
    Append(RefuseToAll(index, waiter, request), &step);
    return step;
  }
  if (absl::Status s = CheckRoom(index, request); !s.ok()) {
    Append(Only(waiter, s), &step);
    return step;
  }
  Append(Park(now, index, waiter, request), &step);
  return step;
}

CollectiveGroup::Step CollectiveGroup::Park(Time now, uint32_t index, WaiterId waiter,
                                            const CollectiveRequest& request) {
  Arrival& arrival = arrivals_[index];
  Step step;
  if (!arrival.sent) {
    budget_->Charge(request.payload->size());
    bytes_ += request.payload->size();
  }
  if (arrival.waiter != 0) {
    step = Only(arrival.waiter, absl::CancelledError("replaced by a later send of the same call"));
    --parked_;
  }
  if (parked_ == 0) first_arrival_ = now;
  last_arrival_ = now;
  stall_.Restart(now);
  if (!arrival.sent) arrival.at = now;
  arrival.Record(waiter, request);
  ++parked_;
  next_[index] = sequence_;
  // All earlier calls agree with each other, so any one of them stands for all.
  if (!sample_) sample_ = index;
  if (!SameOperation(arrivals_[*sample_], arrival)) {
    Append(Mismatch(), &step);
  } else if (parked_ == arrivals_.size()) {
    NoteLateness(index);
    Append(Complete(), &step);
  }
  return step;
}

void CollectiveGroup::NoteLateness(uint32_t last) {
  Arrivals arrivals;
  arrivals.times.reserve(arrivals_.size());
  for (const Arrival& arrival : arrivals_) arrivals.times.push_back(arrival.at);
  arrivals.last = last;
  arrivals.completed = last_arrival_;
  lateness_->Note({words_, name_.name}, arrivals_[last], ranks_, arrivals);
}

absl::Duration CollectiveGroup::SlowestSoFar() const {
  return sample_ ? lateness_->Slowest(words_, arrivals_[*sample_], ranks_)
                 : absl::InfiniteDuration();
}

// ---- Limits ----

bool CollectiveGroup::Disagrees(const CollectiveRequest& request) const {
  return sample_ && !SameOperation(arrivals_[*sample_], request);
}

// Contents are fixed: once the known ones are too large together, the collective can never
// complete.
bool CollectiveGroup::IsTooLarge(uint32_t index, const CollectiveRequest& request) const {
  if (arrivals_[index].sent || !HasAnswerOfAll(request.kind)) return false;
  if (AnswerBytes(bytes_ + request.payload->size(), ranks_.size()) <= max_answer_bytes_) {
    return false;
  }
  return !Disagrees(request);
}

// The last arrival brings the answer with it, which holds all payloads once more. Nobody needs the
// collective before it then: all have its result.
absl::Status CollectiveGroup::CheckRoom(uint32_t index, const CollectiveRequest& request) const {
  const Arrival& arrival = arrivals_[index];
  const uint64_t payload = arrival.sent ? 0 : request.payload->size();
  const bool is_last = parked_ + (arrival.waiter == 0) == arrivals_.size();
  if (!is_last) return budget_->Check(payload);
  return budget_->Check(payload + bytes_ + payload, past_.bytes());
}

std::string CollectiveGroup::DescribeRefusal(uint32_t index,
                                             const CollectiveRequest& request) const {
  std::vector<Contribution> contributions = {{ranks_[index], request.payload->size()}};
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].sent) contributions.push_back({ranks_[i], arrivals_[i].payload->size()});
  }
  const uint64_t bytes = AnswerBytes(bytes_ + request.payload->size(), ranks_.size());
  return absl::StrCat(muster::DescribeStep(DescribeOperation(request), sequence_, words_),
                      " is refused to all its ranks: ",
                      DescribeTooLarge(std::move(contributions), bytes, max_answer_bytes_),
                      ". Nothing was recorded: all ranks may call again, with smaller payloads");
}

CollectiveGroup::Step CollectiveGroup::RefuseToAll(uint32_t index, WaiterId waiter,
                                                   const CollectiveRequest& request) {
  refusal_news_ = DescribeRefusal(index, request);
  Step step = StartAfterRefusal(refusals_ + 1, refusal_news_);
  Append(Only(waiter, refusal_), &step);
  return step;
}

CollectiveGroup::Step CollectiveGroup::StartAfterRefusal(uint32_t refusals,
                                                         const std::string& text) {
  refusals_ = refusals;
  refusal_ = absl::OutOfRangeError(text);
  Step step = FailParked(refusal_);
  ForgetArrivals();
  return step;
}

// ---- Ends ----

void CollectiveGroup::ForgetArrivals() {
  budget_->Release(std::exchange(bytes_, 0));
  arrivals_.assign(ranks_.size(), Arrival());
  sample_.reset();
}

CollectiveGroup::Step CollectiveGroup::Complete() {
  if (stop_asked_ && !stop_sequence_) stop_sequence_ = sequence_;
  return MoveOn(sequence_ + 1);
}

void CollectiveGroup::MarkStop(Step* step) const {
  if (!stop_sequence_ || sequence_ <= *stop_sequence_) return;
  for (Finished& done : *step) done.answer.stop_requested = true;
}

CollectiveGroup::Step CollectiveGroup::Mismatch() {
  // A program does not count the collectives of a group that the SDK has made for one of its calls.
  const std::string known = ProgramsGroup(words_);
  const std::string what =
      known == words_ ? absl::StrCat("op ", sequence_, " of ", words_) : "a call of " + known;
  return FinishForGood(
      absl::StrCat("ranks disagree on ", what, ": ", DescribeDisagreement(ranks_, arrivals_),
                   "; all ranks must call the same collectives in the same order"));
}

CollectiveGroup::Step CollectiveGroup::FinishForGood(const std::string& text) {
  if (!finished_.empty()) return {};
  finished_ = Shortened(text, kMaxFinishedBytes);
  finished_news_ = true;
  Step step = FailParked(absl::FailedPreconditionError(finished_));
  ForgetArrivals();
  return step;
}

void CollectiveGroup::Withdraw(uint32_t index, WaiterId waiter) {
  if (waiter == 0) return;
  if (past_.arrivals()[index].waiter == waiter) past_.Unpark(index);
  Arrival& arrival = arrivals_[index];
  if (arrival.waiter != waiter) return;
  arrival.waiter = 0;
  --parked_;
}

absl::Status CollectiveGroup::WithdrawBelow(uint32_t index, uint64_t sequence, uint64_t attempt,
                                            Step* step) {
  if (sequence > sequence_) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", ranks_[index], " takes back its arrival at op ", sequence, " of ",
                     words_, ", which is at op ", sequence_));
  }
  const auto given_up = [step](WaiterId waiter) {
    Append(Only(waiter, absl::CancelledError("the caller has given this send up")), step);
  };
  const Arrival& past = past_.arrivals()[index];
  if (sequence_ - sequence == 1 && past.waiter != 0 && past.attempt < attempt) {
    given_up(past_.Unpark(index));
  }
  if (sequence < sequence_) return absl::OkStatus();
  Arrival& arrival = arrivals_[index];
  arrival.withdrawn_below = std::max(arrival.withdrawn_below, attempt);
  if (arrival.waiter == 0 || arrival.attempt >= attempt) return absl::OkStatus();
  given_up(std::exchange(arrival.waiter, 0));
  --parked_;
  return absl::OkStatus();
}

CollectiveGroup::Step CollectiveGroup::FailParked(const absl::Status& status) {
  Step step;
  if (parked_ == 0) return step;
  for (Arrival& arrival : arrivals_) {
    if (arrival.waiter == 0) continue;
    step.push_back({std::exchange(arrival.waiter, 0), status, {}});
  }
  parked_ = 0;
  return step;
}

// ---- What ranks say of their need of it ----

bool CollectiveGroup::Say(uint32_t index, bool released, uint64_t attempt) {
  Standing& standing = standings_[index];
  if (attempt < standing.attempt || attempt < standing.first) return false;
  heard_ += !standing.heard;
  released_ += size_t{released} - size_t{standing.released};
  standing.attempt = attempt;
  standing.heard = true;
  standing.released = released;
  return true;
}

// What the rank may yet be found to have sent does not count either.
CollectiveGroup::Step CollectiveGroup::Release(uint32_t index, uint64_t next, uint64_t attempt) {
  if (!Say(index, /*released=*/true, attempt)) return {};
  Step step = Observe(index, next);
  WithdrawBelow(index, sequence_, attempt, &step).IgnoreError();  // the number is the current one
  return step;
}

CollectiveGroup::Step CollectiveGroup::Retain(uint32_t index, uint64_t next, uint64_t attempt) {
  Say(index, /*released=*/false, attempt);
  return Observe(index, next);
}

bool CollectiveGroup::IsReleasedBy(uint32_t rank) const {
  const std::optional<uint32_t> index = IndexOf(rank);
  return !index || standings_[*index].released;
}

// Before the first collective has completed, a rank may not know of the group at all. Afterwards
// all of them do.
bool CollectiveGroup::IsReleased() const {
  if (released_ == 0 || parked_ > 0 || past_.WantsAny() || !finished_.empty()) return false;
  const size_t unaware = sequence_ == 0 ? ranks_.size() - heard_ : 0;
  if (released_ + unaware != ranks_.size()) return false;
  return std::all_of(next_.begin(), next_.end(),
                     [this](uint64_t next) { return next == sequence_; });
}

std::vector<uint32_t> CollectiveGroup::HeardRanks() const {
  std::vector<uint32_t> heard;
  for (uint32_t index = 0; index < ranks_.size(); ++index) {
    if (standings_[index].heard) heard.push_back(ranks_[index]);
  }
  return heard;
}

// ---- What is said of it ----

Absentees CollectiveGroup::AbsentFrom(uint64_t sequence) const {
  Absentees absent;
  for (const auto& [rank, index] : by_rank_) {
    const Arrival& arrival = arrivals_[index];
    if (sequence < sequence_) {
      if (past_.Wants(index)) absent.missing.push_back(rank);
    } else if (arrival.waiter == 0) {
      (arrival.sent ? absent.gave_up : absent.missing).push_back(rank);
    }
  }
  return absent;
}

const std::string& CollectiveGroup::DescribeAbsence(Time now, uint64_t sequence,
                                                    absl::FunctionRef<std::string()> make) {
  Words& words = absence_words_[sequence % absence_words_.size()];
  if (words.at != now || words.sequence != sequence) words = {now, sequence, make()};
  return words.text;
}

std::vector<uint32_t> CollectiveGroup::Arrived() const {
  std::vector<uint32_t> arrived;
  for (const auto& [rank, index] : by_rank_) {
    if (arrivals_[index].waiter != 0) arrived.push_back(rank);
  }
  return arrived;
}

std::string CollectiveGroup::OperationAt(uint32_t index, uint64_t sequence) const {
  const Arrival& arrival = sequence < sequence_ ? past_.arrivals()[index] : arrivals_[index];
  return muster::DescribeStep(DescribeOperation(arrival), sequence, words_);
}

std::shared_ptr<const std::string> CollectiveGroup::Describe(const CollectiveRequest& request) {
  DescribedCall& last = described_;
  if (last.words == nullptr || last.sequence != request.sequence ||
      !SameOperation(last.operation, request)) {
    last = {request, request.sequence,
            std::make_shared<const std::string>(
                muster::DescribeStep(DescribeOperation(request), request.sequence, words_))};
  }
  return last.words;
}

std::string CollectiveGroup::PendingOperation() const {
  for (const Arrival& arrival : arrivals_) {
    if (arrival.waiter != 0) return DescribeOperation(arrival);
  }
  return "";
}

}  // namespace muster::core
