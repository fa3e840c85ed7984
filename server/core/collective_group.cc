#include "server/core/collective_group.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// Call sites that a disagreement names for each side.
constexpr size_t kMaxCallSites = 3;

CollectiveGroup::Step Only(WaiterId waiter, absl::Status status) {
  return {{waiter, std::move(status), {}}};
}

// What some ranks of a group called, and from where.
struct Side {
  std::vector<uint32_t> ranks;
  std::set<std::string> call_sites;
};

std::string SideWords(const Side& side, const std::string& operation) {
  std::vector<std::string> sites(side.call_sites.begin(), side.call_sites.end());
  if (sites.size() > kMaxCallSites) {
    sites.resize(kMaxCallSites);
    sites.push_back("...");
  }
  return absl::StrCat(Ranks(side.ranks), " called ", operation,
                      sites.empty() ? "" : absl::StrCat(" at ", absl::StrJoin(sites, ", ")));
}

}  // namespace

CollectiveGroup::CollectiveGroup(GroupName name, std::vector<uint32_t> ranks, bool recovered,
                                 ByteBudget* budget)
    : name_(std::move(name)),
      ranks_(std::move(ranks)),
      recovered_(recovered),
      budget_(budget),
      arrivals_(ranks_.size()),
      past_(ranks_.size()),
      next_(ranks_.size()) {}

CollectiveGroup::~CollectiveGroup() { budget_->Release(bytes_ + past_.bytes()); }

std::string CollectiveGroup::words() const { return GroupWords(name_); }

std::optional<uint32_t> CollectiveGroup::IndexOf(uint32_t rank) const {
  if (name_.name.empty()) return rank;  // the world's ranks are their own indices
  const auto it = std::find(ranks_.begin(), ranks_.end(), rank);
  if (it == ranks_.end()) return std::nullopt;
  return static_cast<uint32_t>(it - ranks_.begin());
}

bool CollectiveGroup::Shares(const std::vector<uint32_t>& ranks) const {
  return std::any_of(ranks.begin(), ranks.end(), [this](uint32_t r) { return IndexOf(r); });
}

CollectiveGroup::Step CollectiveGroup::Arrive(Time now, uint32_t index, WaiterId waiter,
                                              const CollectiveRequest& request) {
  Step step;
  if (recovered_) step = Observe(index, request.sequence);
  Step rest = request.sequence + 1 == sequence_ ? ArriveAtPast(index, waiter, request)
                                                : ArriveAtCurrent(now, index, waiter, request);
  std::move(rest.begin(), rest.end(), std::back_inserter(step));
  return step;
}

absl::Status CollectiveGroup::CheckCurrent(uint32_t index, const CollectiveRequest& request) const {
  const Arrival& arrival = arrivals_[index];
  if (!finished_.empty()) return absl::FailedPreconditionError(finished_);
  if (request.sequence != sequence_) {
    return absl::FailedPreconditionError(
        absl::StrCat("rank ", ranks_[index], " called op ", request.sequence, " of ", words(),
                     ", which is at op ", sequence_,
                     "; a process must not skip or repeat completed collectives"));
  }
  if (request.call.attempt < arrival.attempt) {
    return absl::CancelledError("a later send of the same call has arrived");
  }
  if (!arrival.sent || arrival.IsRepeatedBy(request)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("op ", sequence_, " of ", words(), " was first sent as ", arrival.Words(),
                   " and must be repeated with the same content, not as ", OperationOf(request)));
}

CollectiveGroup::Step CollectiveGroup::ArriveAtCurrent(Time now, uint32_t index, WaiterId waiter,
                                                       const CollectiveRequest& request) {
  Arrival& arrival = arrivals_[index];
  if (absl::Status s = CheckCurrent(index, request); !s.ok()) return Only(waiter, s);
  if (!arrival.sent) {
    if (absl::Status s = budget_->Reserve(request.payload->size()); !s.ok()) return Only(waiter, s);
    bytes_ += request.payload->size();
  }
  Step step;
  if (arrival.waiter != 0) {
    step = Only(arrival.waiter, absl::CancelledError("replaced by a later send of the same call"));
    --parked_;
  }
  if (parked_ == 0) first_arrival_ = now;
  last_arrival_ = now;
  stall_.Restart(now);
  arrival.Record(waiter, request);
  ++parked_;
  next_[index] = sequence_;
  // All earlier calls agree with each other, so any one of them stands for all.
  if (!sample_) sample_ = index;
  const bool agree = arrivals_[*sample_].SameCall(arrival);
  Step rest = !agree ? Mismatch() : parked_ == arrivals_.size() ? Complete() : Step();
  std::move(rest.begin(), rest.end(), std::back_inserter(step));
  return step;
}

// A retry of the completed collective, whose answer was lost; or a contribution that others need.
CollectiveGroup::Step CollectiveGroup::ArriveAtPast(uint32_t index, WaiterId waiter,
                                                    const CollectiveRequest& request) {
  const Arrival& arrival = past_.arrivals()[index];
  if (request.call.attempt < arrival.attempt) {
    return Only(waiter, absl::CancelledError("a later send of the same call has been answered"));
  }
  const Arrival* sample = past_.Sample();
  if (sample != nullptr && (request.kind != sample->kind || request.root != sample->root)) {
    return Only(waiter,
                absl::FailedPreconditionError(absl::StrCat(
                    "op ", request.sequence, " of ", words(), " completed as ", sample->Words(),
                    "; rank ", ranks_[index], " repeats it as ", OperationOf(request))));
  }
  if (!arrival.sent) {
    if (absl::Status s = budget_->Reserve(request.payload->size()); !s.ok()) return Only(waiter, s);
  }
  Step step;
  if (arrival.waiter != 0) {
    step = Only(arrival.waiter, absl::CancelledError("replaced by a later send of the same call"));
  }
  past_.Record(index, waiter, request);
  if (next_[index] >= sequence_) {  // it has the result, and only contributes
    step.push_back(
        {past_.Unpark(index), absl::OkStatus(), {std::make_shared<std::vector<Bytes>>()}});
  }
  Step rest = past_.Settle();
  MarkStop(&rest);
  std::move(rest.begin(), rest.end(), std::back_inserter(step));
  return step;
}

CollectiveGroup::Step CollectiveGroup::Observe(uint32_t index, uint64_t next) {
  next_[index] = std::max(next_[index], next);
  return next > sequence_ ? MoveOn(next) : Step();
}

CollectiveGroup::Step CollectiveGroup::MoveOn(uint64_t next) {
  // Nobody can be further back than one collective, unless it calls what it must not.
  const absl::Status over = absl::FailedPreconditionError(
      absl::StrCat("op ", next - 1, " of ", words(),
                   " has completed; a process must not repeat collectives from before it"));
  Step step = next > sequence_ + 1 ? FailParked(over) : Step();
  for (WaiterId waiter : past_.UnparkAll()) step.push_back({waiter, over, {}});
  budget_->Release(past_.bytes());
  if (next == sequence_ + 1) {
    past_ = PastCollective(std::exchange(arrivals_, std::vector<Arrival>(ranks_.size())),
                           std::exchange(bytes_, 0));
  } else {
    past_ = PastCollective(ranks_.size());
    budget_->Release(std::exchange(bytes_, 0));
    arrivals_.assign(ranks_.size(), Arrival());
  }
  sequence_ = next;
  parked_ = 0;
  sample_.reset();
  Step rest = past_.Settle();
  MarkStop(&rest);
  std::move(rest.begin(), rest.end(), std::back_inserter(step));
  return step;
}

CollectiveGroup::Step CollectiveGroup::Complete() {
  if (stop_asked_ && !stop_sequence_) stop_sequence_ = sequence_;
  return MoveOn(sequence_ + 1);
}

void CollectiveGroup::MarkStop(Step* step) const {
  if (!stop_sequence_ || sequence_ <= *stop_sequence_) return;
  for (Finished& done : *step) done.answer.stop_requested = true;
}

std::string CollectiveGroup::Disagreement() const {
  std::map<std::string, Side> sides;
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    if (!arrivals_[i].sent) continue;
    Side& side = sides[arrivals_[i].Words()];
    side.ranks.push_back(ranks_[i]);
    if (!arrivals_[i].call_site.empty()) side.call_sites.insert(arrivals_[i].call_site);
  }
  std::map<std::vector<uint32_t>, std::string> ordered;
  for (auto& [operation, side] : sides) {
    std::sort(side.ranks.begin(), side.ranks.end());
    ordered[side.ranks] = SideWords(side, operation);
  }
  return absl::StrJoin(
      ordered, ", ", [](std::string* out, const auto& side) { absl::StrAppend(out, side.second); });
}

CollectiveGroup::Step CollectiveGroup::Mismatch() {
  return FinishForGood(
      absl::StrCat("ranks disagree on op ", sequence_, " of ", words(), ": ", Disagreement(),
                   "; all ranks must call the same collectives in the same order"));
}

CollectiveGroup::Step CollectiveGroup::FinishForGood(const std::string& text) {
  if (!finished_.empty()) return {};
  finished_ = text;
  finished_news_ = true;
  Step step = FailParked(absl::FailedPreconditionError(finished_));
  budget_->Release(std::exchange(bytes_, 0));
  arrivals_.assign(ranks_.size(), Arrival());
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

CollectiveGroup::Step CollectiveGroup::FailParked(const absl::Status& status) {
  Step step;
  for (Arrival& arrival : arrivals_) {
    if (arrival.waiter == 0) continue;
    step.push_back({std::exchange(arrival.waiter, 0), status, {}});
  }
  parked_ = 0;
  return step;
}

std::vector<uint32_t> CollectiveGroup::NeededContributors() const {
  std::vector<uint32_t> needed;
  for (uint32_t index : past_.Wanted()) {
    if (next_[index] >= sequence_) needed.push_back(ranks_[index]);
  }
  return needed;
}

std::vector<uint32_t> CollectiveGroup::Missing(uint64_t sequence) const {
  std::vector<uint32_t> missing;
  if (sequence < sequence_) {
    for (uint32_t index : past_.Wanted()) missing.push_back(ranks_[index]);
  } else {
    for (size_t i = 0; i < arrivals_.size(); ++i) {
      if (arrivals_[i].waiter == 0) missing.push_back(ranks_[i]);
    }
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

std::vector<uint32_t> CollectiveGroup::Arrived() const {
  std::vector<uint32_t> arrived;
  for (size_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].waiter != 0) arrived.push_back(ranks_[i]);
  }
  std::sort(arrived.begin(), arrived.end());
  return arrived;
}

std::string CollectiveGroup::OperationAt(uint32_t index, uint64_t sequence) const {
  const Arrival& arrival = sequence < sequence_ ? past_.arrivals()[index] : arrivals_[index];
  return absl::StrCat(arrival.Words(), " op ", sequence, " of ", words());
}

std::string CollectiveGroup::PendingOperation() const {
  for (const Arrival& arrival : arrivals_) {
    if (arrival.waiter != 0) return arrival.Words();
  }
  return "";
}

}  // namespace muster::core
