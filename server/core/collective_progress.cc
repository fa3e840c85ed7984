// How far the ranks of a group are: the last completed collective, and what they say of themselves
// after a restart of the coordinator.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/answer_size.h"
#include "server/core/collective_group.h"
#include "server/core/describe.h"

namespace muster::core {

// ---- The last completed collective ----

absl::Status CollectiveGroup::CheckPast(uint32_t index, const CollectiveRequest& request) const {
  const Arrival& arrival = past_.arrivals()[index];
  if (request.call.attempt < arrival.attempt) {
    return absl::CancelledError("a later send of the same call has been answered");
  }
  const Arrival* sample = past_.Sample();
  if (sample != nullptr && (request.kind != sample->kind || request.root != sample->root)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "op ", request.sequence, " of ", words_, " completed as ", DescribeOperation(*sample),
        "; rank ", ranks_[index], " repeats it as ", DescribeOperation(request)));
  }
  if (arrival.sent) return absl::OkStatus();
  // Others have the result, so this one cannot be refused because of a limit that was lowered
  // since, or of a lack of room that will end.
  const uint64_t bytes = past_.contributed() + request.payload->size();
  if (AnswerBytes(bytes, ranks_.size()) > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "op ", request.sequence, " of ", words_, " cannot have completed: its answer would have ",
        bytes, " bytes, more than one message can carry"));
  }
  const absl::Status room = budget_->Check(past_.CostOf(index, request));
  return room.ok() ? room : absl::UnavailableError(room.message());
}

// A retry of the completed collective, whose answer was lost; or a contribution that others need.
CollectiveGroup::Step CollectiveGroup::ArriveAtPast(uint32_t index, WaiterId waiter,
                                                    const CollectiveRequest& request) {
  if (absl::Status s = CheckPast(index, request); !s.ok()) return Only(waiter, s);
  Step step;
  if (const WaiterId before = past_.Unpark(index); before != 0) {
    step = Only(before, absl::CancelledError("replaced by a later send of the same call"));
  }
  budget_->Charge(past_.CostOf(index, request));
  const bool was_needed = past_.WantsAny();
  const bool makes_answer = past_.Record(index, waiter, request);
  if (next_[index] >= sequence_) {  // it has the result, and only contributes
    step.push_back(
        {past_.Unpark(index), absl::OkStatus(), {std::make_shared<std::vector<Bytes>>()}});
  }
  Step rest = makes_answer ? past_.AnswerAll() : past_.Answer(index);
  contributor_news_ |= past_.WantsAny() && !was_needed;
  MarkStop(&rest);
  Append(std::move(rest), &step);
  return step;
}

bool CollectiveGroup::NeedsContributionOf(uint32_t index) const {
  return past_.Wants(index) && next_[index] >= sequence_;
}

std::vector<uint32_t> CollectiveGroup::NeededContributors() const {
  std::vector<uint32_t> needed;
  for (uint32_t index : past_.Wanted()) {
    if (next_[index] >= sequence_) needed.push_back(ranks_[index]);
  }
  return needed;
}

// ---- How far the ranks are ----

CollectiveGroup::Step CollectiveGroup::Observe(uint32_t index, uint64_t next) {
  Step step;
  if (!first_said_[index] || next > sequence_) step = BelieveOrFinish(index, next);
  if (!contradicted_) next_[index] = std::max(next_[index], next);
  return step;
}

// What another coordinator has seen completed was so before anybody here said a word. So all ranks
// had arrived there when they first spoke here, and had completed whatever comes before it.
CollectiveGroup::Step CollectiveGroup::BelieveOrFinish(uint32_t index, uint64_t next) {
  const bool is_first = !first_said_[index].has_value();
  if (is_first) first_said_[index] = next;
  if (next <= sequence_) {
    // After a contradiction nobody is known to be ahead.
    if (sequence_ - next <= 1 || contradicted_) return {};
    const auto ahead = std::find_if(next_.begin(), next_.end(),
                                    [next](uint64_t other) { return other > next + 1; });
    return Contradiction(ahead - next_.begin(), *ahead - 1, index, next);
  }
  if (!is_first) return Contradiction(index, next - 1, index, sequence_);
  const auto behind = std::find_if(
      first_said_.begin(), first_said_.end(),
      [next](const std::optional<uint64_t>& said) { return said && *said + 1 < next; });
  if (behind == first_said_.end()) return MoveOn(next);
  return Contradiction(index, next - 1, behind - first_said_.begin(), **behind);
}

CollectiveGroup::Step CollectiveGroup::Contradiction(uint32_t ahead, uint64_t completed,
                                                     uint32_t behind, uint64_t at) {
  const std::string other = ahead == behind
                                ? absl::StrCat("the coordinator has it at op ", at)
                                : absl::StrCat("rank ", ranks_[behind], " is at op ", at);
  Step step = FinishForGood(
      absl::StrCat("rank ", ranks_[ahead], " says that it has completed op ", completed, " of ",
                   words_, ", but ", other, "; no rank of a group can be more than one collective ",
                   "ahead of another, so one of them has skipped or repeated some"));
  contradicted_ = true;
  const absl::Status status = absl::FailedPreconditionError(finished_);
  for (WaiterId waiter : past_.UnparkAll()) step.push_back({waiter, status, {}});
  return step;
}

CollectiveGroup::Step CollectiveGroup::MoveOn(uint64_t next) {
  // Nobody is that far back, unless it calls what it must not.
  const auto over = [&] {
    return absl::FailedPreconditionError(
        absl::StrCat("op ", next - 1, " of ", words_,
                     " has completed; a process must not repeat collectives from before it"));
  };
  Step step;
  for (WaiterId waiter : past_.UnparkAll()) step.push_back({waiter, over(), {}});
  budget_->Release(past_.bytes());
  if (next > sequence_ + 1) ForgetArrivals();
  past_ = PastCollective(std::exchange(arrivals_, std::vector<Arrival>(ranks_.size())), bytes_);
  budget_->Charge(past_.bytes() - std::exchange(bytes_, 0));
  sample_.reset();
  sequence_ = next;
  parked_ = 0;
  refusals_ = 0;
  refusal_ = absl::OkStatus();
  Step rest = past_.AnswerAll();
  contributor_news_ |= past_.WantsAny();
  MarkStop(&rest);
  if (step.empty()) return rest;
  Append(std::move(rest), &step);
  return step;
}

}  // namespace muster::core
