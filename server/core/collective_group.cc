#include "server/core/collective_group.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

const std::shared_ptr<const std::vector<Bytes>>& NoPayloads() {
  static const auto* const kNone =
      new std::shared_ptr<const std::vector<Bytes>>(std::make_shared<std::vector<Bytes>>());
  return *kNone;
}

// What the rank at `index` gets of a completed collective.
CollectiveAnswer AnswerFor(CollectiveKind kind, uint32_t root, uint32_t index,
                           const std::shared_ptr<const std::vector<Bytes>>& payloads) {
  const bool nothing = kind == CollectiveKind::kGather && index != root;
  return {nothing ? NoPayloads() : payloads};
}

CollectiveGroup::Step Only(WaiterId waiter, absl::Status status) {
  return {{waiter, std::move(status), {}}};
}

}  // namespace

CollectiveGroup::CollectiveGroup(std::string name, std::vector<uint32_t> ranks, ByteBudget* budget)
    : name_(std::move(name)),
      ranks_(std::move(ranks)),
      budget_(budget),
      slots_(ranks_.size()),
      last_payloads_(NoPayloads()),
      last_attempts_(ranks_.size()) {}

CollectiveGroup::~CollectiveGroup() { budget_->Release(slot_bytes_ + last_bytes_); }

std::string CollectiveGroup::words() const { return GroupWords(name_, ranks_); }

std::optional<uint32_t> CollectiveGroup::IndexOf(uint32_t rank) const {
  if (name_.empty()) return rank;  // the world's ranks are their own indices
  const auto it = std::find(ranks_.begin(), ranks_.end(), rank);
  if (it == ranks_.end()) return std::nullopt;
  return static_cast<uint32_t>(it - ranks_.begin());
}

bool CollectiveGroup::Shares(const std::vector<uint32_t>& ranks) const {
  return std::any_of(ranks.begin(), ranks.end(), [this](uint32_t r) { return IndexOf(r); });
}

CollectiveGroup::Step CollectiveGroup::Arrive(Time now, uint32_t index, WaiterId waiter,
                                              const CollectiveRequest& request) {
  if (request.sequence + 1 == sequence_) return Replay(index, waiter, request);
  if (!finished_.empty()) return Only(waiter, absl::FailedPreconditionError(finished_));
  if (request.sequence != sequence_) {
    return Only(waiter, absl::FailedPreconditionError(absl::StrCat(
                            "rank ", ranks_[index], " called op ", request.sequence, " of ",
                            words(), ", which is at op ", sequence_,
                            "; a process must not skip or repeat completed collectives")));
  }
  Slot& slot = slots_[index];
  if (request.call.attempt < slot.attempt) {
    return Only(waiter, absl::CancelledError("a later send of the same call has arrived"));
  }
  if (absl::Status s = CheckRepeat(slot, request); !s.ok()) return Only(waiter, s);
  if (!slot.sent) {
    if (absl::Status s = budget_->Reserve(request.payload->size()); !s.ok()) return Only(waiter, s);
    slot_bytes_ += request.payload->size();
  }
  Step step;
  if (slot.waiter != 0) {
    step = Only(slot.waiter, absl::CancelledError("replaced by a later send of the same call"));
    --parked_;
  }
  if (parked_ == 0) first_arrival_ = now;
  Record(slot, waiter, request);
  // All earlier calls agree with each other, so any one of them stands for all.
  if (!sample_) sample_ = index;
  const bool agree = SameCall(slots_[*sample_], slot);
  Step rest = !agree ? Mismatch() : parked_ == slots_.size() ? Complete() : Step();
  std::move(rest.begin(), rest.end(), std::back_inserter(step));
  return step;
}

void CollectiveGroup::Record(Slot& slot, WaiterId waiter, const CollectiveRequest& request) {
  slot = {true,         waiter,        request.call.attempt, request.kind,
          request.root, request.label, request.type_name,    request.payload};
  ++parked_;
}

// The retry of a completed collective gets the same answer.
CollectiveGroup::Step CollectiveGroup::Replay(uint32_t index, WaiterId waiter,
                                              const CollectiveRequest& request) const {
  if (request.call.attempt < last_attempts_[index]) {
    return Only(waiter, absl::CancelledError("a later send of the same call has been answered"));
  }
  if (request.kind != last_kind_ || request.root != last_root_) {
    return Only(waiter, absl::FailedPreconditionError(absl::StrCat(
                            "op ", request.sequence, " of ", words(), " completed as ",
                            Operation(last_kind_, last_root_, "", ""), "; rank ", ranks_[index],
                            " repeats it as ", Operation(request.kind, request.root, "", ""))));
  }
  return {{waiter, absl::OkStatus(), AnswerFor(last_kind_, last_root_, index, last_payloads_)}};
}

absl::Status CollectiveGroup::CheckRepeat(const Slot& slot,
                                          const CollectiveRequest& request) const {
  if (!slot.sent) return absl::OkStatus();
  const bool same = slot.kind == request.kind && slot.root == request.root &&
                    slot.label == request.label && slot.type_name == request.type_name &&
                    *slot.payload == *request.payload;
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("op ", sequence_, " of ", words(), " was first sent as ", Words(slot),
                   " and must be repeated with the same content, not as ",
                   Operation(request.kind, request.root, request.label, request.type_name)));
}

bool CollectiveGroup::SameCall(const Slot& a, const Slot& b) {
  return a.kind == b.kind && a.root == b.root && a.label == b.label && a.type_name == b.type_name;
}

std::string CollectiveGroup::Words(const Slot& slot) {
  return Operation(slot.kind, slot.root, slot.label, slot.type_name);
}

std::string CollectiveGroup::Disagreement() const {
  std::map<std::string, std::vector<uint32_t>> sides;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sent) sides[Words(slots_[i])].push_back(ranks_[i]);
  }
  std::vector<std::pair<std::vector<uint32_t>, std::string>> ordered;
  for (auto& [operation, ranks] : sides) {
    std::sort(ranks.begin(), ranks.end());
    ordered.emplace_back(ranks, operation);
  }
  std::sort(ordered.begin(), ordered.end());
  return absl::StrJoin(ordered, ", ", [](std::string* out, const auto& side) {
    absl::StrAppend(out, Ranks(side.first), " called ", side.second);
  });
}

CollectiveGroup::Step CollectiveGroup::Mismatch() {
  finished_ =
      absl::StrCat("ranks disagree on op ", sequence_, " of ", words(), ": ", Disagreement(),
                   "; all ranks must call the same collectives in the same order");
  for (Slot& slot : slots_) slot.payload = nullptr;
  budget_->Release(std::exchange(slot_bytes_, 0));
  return FailParked(absl::FailedPreconditionError(finished_));
}

CollectiveGroup::Step CollectiveGroup::Complete() {
  const CollectiveKind kind = slots_[0].kind;
  const uint32_t root = slots_[0].root;
  auto payloads = std::make_shared<std::vector<Bytes>>();
  if (kind == CollectiveKind::kBroadcast) {
    payloads->push_back(slots_[root].payload);
  } else if (kind != CollectiveKind::kBarrier) {
    for (const Slot& slot : slots_) payloads->push_back(slot.payload);
  }
  budget_->Release(last_bytes_);
  last_bytes_ = std::exchange(slot_bytes_, 0);
  last_kind_ = kind;
  last_root_ = root;
  last_payloads_ = std::move(payloads);
  Step step;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    last_attempts_[i] = slots_[i].attempt;
    step.push_back({slots_[i].waiter, absl::OkStatus(), AnswerFor(kind, root, i, last_payloads_)});
  }
  ++sequence_;
  parked_ = 0;
  sample_.reset();
  slots_.assign(slots_.size(), Slot());
  return step;
}

void CollectiveGroup::Withdraw(uint32_t index, WaiterId waiter) {
  Slot& slot = slots_[index];
  if (slot.waiter != waiter || waiter == 0) return;
  slot.waiter = 0;
  --parked_;
}

CollectiveGroup::Step CollectiveGroup::FailParked(const absl::Status& status) {
  Step step;
  for (Slot& slot : slots_) {
    if (slot.waiter == 0) continue;
    step.push_back({std::exchange(slot.waiter, 0), status, {}});
  }
  parked_ = 0;
  return step;
}

std::vector<uint32_t> CollectiveGroup::Missing() const {
  std::vector<uint32_t> missing;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].waiter == 0) missing.push_back(ranks_[i]);
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

std::vector<uint32_t> CollectiveGroup::Arrived() const {
  std::vector<uint32_t> arrived;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].waiter != 0) arrived.push_back(ranks_[i]);
  }
  std::sort(arrived.begin(), arrived.end());
  return arrived;
}

std::string CollectiveGroup::OperationOf(uint32_t index) const {
  return absl::StrCat(Words(slots_[index]), " op ", sequence_, " of ", words());
}

std::string CollectiveGroup::PendingOperation() const {
  for (const Slot& slot : slots_) {
    if (slot.waiter != 0) return Words(slot);
  }
  return "";
}

}  // namespace muster::core
