#include "server/core/past_collective.h"

#include <algorithm>
#include <utility>

namespace muster::core {
namespace {

const std::shared_ptr<const std::vector<Bytes>>& NoPayloads() {
  static const auto* const kNone =
      new std::shared_ptr<const std::vector<Bytes>>(std::make_shared<std::vector<Bytes>>());
  return *kNone;
}

// Whose contributions the answer of one rank is made of.
enum class Needs { kNothing, kRoot, kAll };

Needs NeedsOf(CollectiveKind kind, uint32_t root, uint32_t index) {
  switch (kind) {
    case CollectiveKind::kBarrier:
      return Needs::kNothing;
    case CollectiveKind::kBroadcast:
      return Needs::kRoot;
    case CollectiveKind::kGather:
      return index == root ? Needs::kAll : Needs::kNothing;
    case CollectiveKind::kAllGather:
      return Needs::kAll;
  }
  return Needs::kNothing;
}

}  // namespace

PastCollective::PastCollective(std::vector<Arrival> arrivals, uint64_t bytes)
    : arrivals_(std::move(arrivals)), bytes_(bytes) {
  for (const Arrival& arrival : arrivals_) {
    sent_ += arrival.sent;
    parked_ += arrival.waiter != 0;
  }
}

const Arrival* PastCollective::Sample() const {
  if (sent_ == 0) return nullptr;
  return &*std::find_if(arrivals_.begin(), arrivals_.end(),
                        [](const Arrival& a) { return a.sent; });
}

void PastCollective::Record(uint32_t index, WaiterId waiter, const CollectiveRequest& request) {
  Arrival& arrival = arrivals_[index];
  parked_ += arrival.waiter == 0;
  if (arrival.sent) {
    arrival.waiter = waiter;
    arrival.attempt = request.call.attempt;
    return;
  }
  arrival.Record(waiter, request);
  ++sent_;
  bytes_ += request.payload->size();
}

WaiterId PastCollective::Unpark(uint32_t index) {
  Arrival& arrival = arrivals_[index];
  parked_ -= arrival.waiter != 0;
  return std::exchange(arrival.waiter, 0);
}

std::vector<WaiterId> PastCollective::UnparkAll() {
  std::vector<WaiterId> waiters;
  for (uint32_t i = 0; parked_ > 0 && i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter != 0) waiters.push_back(Unpark(i));
  }
  return waiters;
}

bool PastCollective::CanAnswer(uint32_t index) const {
  const Arrival& sample = *Sample();
  switch (NeedsOf(sample.kind, sample.root, index)) {
    case Needs::kNothing:
      return true;
    case Needs::kRoot:
      return arrivals_[sample.root].sent;
    case Needs::kAll:
      return IsWhole();
  }
  return false;
}

CollectiveAnswer PastCollective::AnswerFor(uint32_t index) {
  const Arrival& sample = *Sample();
  if (NeedsOf(sample.kind, sample.root, index) == Needs::kNothing) return {NoPayloads()};
  if (payloads_ == nullptr) {
    auto payloads = std::make_shared<std::vector<Bytes>>();
    if (sample.kind == CollectiveKind::kBroadcast) {
      payloads->push_back(arrivals_[sample.root].payload);
    } else {
      for (const Arrival& arrival : arrivals_) payloads->push_back(arrival.payload);
    }
    payloads_ = std::move(payloads);
  }
  return {payloads_};
}

std::vector<FinishedCall> PastCollective::Settle() {
  std::vector<FinishedCall> done;
  if (parked_ == 0) return done;
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter == 0 || !CanAnswer(i)) continue;
    done.push_back({Unpark(i), absl::OkStatus(), AnswerFor(i)});
  }
  return done;
}

std::vector<uint32_t> PastCollective::Wanted() const {
  std::vector<uint32_t> wanted;
  if (parked_ == 0) return wanted;
  const Arrival& sample = *Sample();
  bool root = false;
  bool all = false;
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter == 0) continue;
    const Needs needs = NeedsOf(sample.kind, sample.root, i);
    root |= needs == Needs::kRoot;
    all |= needs == Needs::kAll;
  }
  for (uint32_t i = 0; i < arrivals_.size(); ++i) {
    if (!arrivals_[i].sent && (all || (root && i == sample.root))) wanted.push_back(i);
  }
  return wanted;
}

}  // namespace muster::core
