#include "server/core/group/past_collective.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/answer_size.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

const std::shared_ptr<const std::vector<Bytes>>& NoPayloads() {
  static const auto* const kNone =
      new std::shared_ptr<const std::vector<Bytes>>(std::make_shared<std::vector<Bytes>>());
  return *kNone;
}

}  // namespace

PastCollective::PastCollective(std::vector<Arrival> arrivals, ByteCharge payloads)
    : arrivals_(std::move(arrivals)), contributed_(payloads.bytes()), held_(std::move(payloads)) {
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (!arrivals_[i].sent) continue;
    ++sent_;
    sample_ = i;
  }
  if (!sample_) return;
  const bool has_root =
      Sample()->kind == CollectiveKind::kBroadcast && arrivals_[Sample()->root].sent;
  answer_is_known_ = has_root || sent_ == arrivals_.size();
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter != 0) ++parked_[NeedOf(i)];
  }
  ChargeHeld();
}

absl::Status PastCollective::Check(const RankGroup& group, uint32_t index,
                                   const CollectiveRequest& request) const {
  const Arrival& arrival = arrivals_[index];
  if (request.call.attempt < arrival.attempt) {
    return absl::CancelledError("a later send of the same call has been answered");
  }
  const Arrival* sample = Sample();
  if (sample != nullptr && (request.kind != sample->kind || request.root != sample->root)) {
    return absl::FailedPreconditionError(
        absl::StrCat("op ", request.sequence, " of ", group.description(), " completed as ",
                     DescribeOperation(*sample), "; rank ", group.ranks()[index], " repeats it as ",
                     DescribeOperation(request)));
  }
  if (arrival.sent) return absl::OkStatus();
  // Other ranks have the result, so a limit that was lowered since must not refuse this rank. A
  // lack of room will end, so it is UNAVAILABLE.
  const uint64_t bytes = contributed_ + request.payload->size();
  if (AnswerBytes(bytes, group.size()) > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("op ", request.sequence, " of ", group.description(),
                     " cannot have completed: its answer would have ", bytes,
                     " bytes, more than one message can carry"));
  }
  const absl::Status room = held_.budget().Check(CostOf(index, request));
  return room.ok() ? room : absl::UnavailableError(room.message());
}

bool PastCollective::MakesAnswer(uint32_t index, const CollectiveRequest& request) const {
  if (arrivals_[index].sent || answer_is_known_) return false;
  if (request.kind == CollectiveKind::kBroadcast && index == request.root) return true;
  return sent_ + 1 == arrivals_.size();
}

uint64_t PastCollective::CostOf(uint32_t index, const CollectiveRequest& request) const {
  if (arrivals_[index].sent) return 0;
  const uint64_t payload = request.payload->size();
  const uint64_t copies = answer_is_known_ ? 2 : 1;
  return copies * payload + (MakesAnswer(index, request) ? contributed_ + payload : 0);
}

bool PastCollective::Record(uint32_t index, WaiterId waiter, const CollectiveRequest& request) {
  Arrival& arrival = arrivals_[index];
  Unpark(index);
  const bool makes_answer = MakesAnswer(index, request);
  if (arrival.sent) {
    arrival.waiter = waiter;
    arrival.attempt = request.call.attempt;
  } else {
    arrival.Record(waiter, request);
    ++sent_;
    sample_ = index;
    contributed_ += request.payload->size();
    answer_is_known_ |= makes_answer;
    ChargeHeld();
  }
  ++parked_[NeedOf(index)];
  return makes_answer;
}

WaiterId PastCollective::Unpark(uint32_t index) {
  Arrival& arrival = arrivals_[index];
  if (arrival.waiter != 0) --parked_[NeedOf(index)];
  return std::exchange(arrival.waiter, 0);
}

WaiterId PastCollective::UnparkBelow(uint32_t index, uint64_t attempt) {
  return arrivals_[index].attempt < attempt ? Unpark(index) : 0;
}

std::vector<WaiterId> PastCollective::UnparkAll() {
  std::vector<WaiterId> waiters;
  if (parked_ == std::array<size_t, 3>{}) return waiters;
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter != 0) waiters.push_back(Unpark(i));
  }
  return waiters;
}

PastCollective::Need PastCollective::NeedOf(uint32_t index) const {
  switch (Sample()->kind) {
    case CollectiveKind::kBarrier:
      return kNothing;
    case CollectiveKind::kBroadcast:
      return kRoot;
    case CollectiveKind::kGather:
      return index == Sample()->root ? kAll : kNothing;
    case CollectiveKind::kAllGather:
      return kAll;
  }
  return kNothing;
}

CollectiveAnswer PastCollective::AnswerFor(uint32_t index) {
  if (NeedOf(index) == kNothing) return {NoPayloads(), false, nullptr};
  if (payloads_ == nullptr) {
    auto payloads = std::make_shared<std::vector<Bytes>>();
    if (Sample()->kind == CollectiveKind::kBroadcast) {
      payloads->push_back(arrivals_[Sample()->root].payload);
    } else {
      for (const Arrival& arrival : arrivals_) payloads->push_back(arrival.payload);
    }
    payloads_ = std::move(payloads);
    encoding_ = std::make_shared<EncodingSlot>();
  }
  return {payloads_, false, encoding_};
}

FinishedCalls PastCollective::Answer(uint32_t index) {
  FinishedCalls done;
  AppendAnswer(index, &done);
  return done;
}

void PastCollective::AppendAnswer(uint32_t index, FinishedCalls* done) {
  if (arrivals_[index].waiter == 0) return;
  if (NeedOf(index) != kNothing && !answer_is_known_) return;
  done->push_back({Unpark(index), absl::OkStatus(), AnswerFor(index)});
}

FinishedCalls PastCollective::AnswerAll() {
  FinishedCalls done;
  const size_t parked = parked_[kNothing] + parked_[kRoot] + parked_[kAll];
  if (parked == 0) return done;
  done.reserve(parked);
  for (uint32_t i = 0; i < arrivals_.size(); ++i) AppendAnswer(i, &done);
  return done;
}

bool PastCollective::Wants(uint32_t index) const {
  if (arrivals_[index].sent) return false;
  return parked_[kAll] > 0 || (parked_[kRoot] > 0 && index == Sample()->root);
}

std::vector<uint32_t> PastCollective::Wanted() const {
  std::vector<uint32_t> wanted;
  if (!WantsAny()) return wanted;
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (Wants(i)) wanted.push_back(i);
  }
  return wanted;
}

}  // namespace muster::core
