// The part of RandomSchedule in which ranks arrive together.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "server/core/job/node_batches.h"
#include "tests/server/core/random/random_schedule.h"

namespace muster::core {

void RandomSchedule::SendTogether() {
  const std::string group = Pick(3) == 0 ? "sub" : "";
  Batch batch;
  std::vector<CollectiveRequest> calls;
  for (uint32_t rank = Pick(size_), i = 0; i < size_; ++i, rank = (rank + 1) % size_) {
    if (!MayCallNext(rank, group) || Pick(4) == 0) continue;
    const Key next = {group, processes_[rank].next[group]};
    if (calls.empty()) batch.key = next;
    if (next != batch.key) continue;
    calls.push_back(RequestAt(rank, group, next.second));
    calls.back().call.wait_timeout = absl::Seconds(1 + Pick(60));
    batch.ranks.push_back(rank);
  }
  if (calls.empty()) return;
  batch.waiting.insert(batch.ranks.begin(), batch.ranks.end());
  const NodeCollectiveRequest request = Harness::Together(calls);
  sent_together_.emplace_back(request, batch);
  if (Pick(8) == 0) {  // still in flight
    Trace(absl::StrCat("a batch of ranks ", absl::StrJoin(batch.ranks, ","), " is late"));
    if (Pick(2) == 0) TakeBack(batch.ranks[0], batch.key);
    return;
  }
  Send(request, batch);
}

void RandomSchedule::Send(const NodeCollectiveRequest& request, const Batch& batch) {
  const WaiterId id = h_.NextId();
  Trace(absl::StrCat("ranks ", absl::StrJoin(batch.ranks, ","), " send op ", batch.key.second,
                     " of '", batch.key.first, "' together, call ", id));
  batches_[id] = batch;
  const auto each = [&](const auto& act) {
    for (size_t i = 0; i < batch.ranks.size(); ++i) {
      act(batch.ranks[i], NodeBatches::PartId(id, i), request.parts[i]);
    }
  };
  each([&](uint32_t rank, WaiterId waiter, const ArrivalPart& part) {
    if (part.attempt < counts_from_[{rank, batch.key}]) return;
    arrived_[batch.key][waiter] = rank;
    parts_[waiter] = {rank, batch.key, part.attempt, h_.now() + *part.wait_timeout};
  });
  h_.Absorb(id, h_.coordinator().Step(h_.now(), id, request));
  const bool taken = h_.Parked(id) || (h_.StatusOf(id).ok() && !h_.CompletedOf(id).empty());
  each([&](uint32_t rank, WaiterId, const ArrivalPart& part) {
    uint64_t& counts_from = counts_from_[{rank, batch.key}];
    if (taken) counts_from = std::max(counts_from, part.attempt + 1);
  });
  Absorb();
}

void RandomSchedule::RepeatBatch() {
  if (sent_together_.empty()) return;
  auto [request, batch] = sent_together_[Pick(sent_together_.size())];
  batch.waiting.clear();
  Trace("late or twice:");
  Send(request, batch);
}

void RandomSchedule::CancelBatch() {
  if (batches_.empty()) return;
  const auto it = std::next(batches_.begin(), Pick(batches_.size()));
  const WaiterId id = it->first;
  Trace(absl::StrCat("the call of batch ", id, " ends"));
  batches_.erase(it);
  h_.Cancel(id);
  Absorb();
}

void RandomSchedule::LeaveBatch() {
  if (batches_.empty()) return;
  Batch& batch = std::next(batches_.begin(), Pick(batches_.size()))->second;
  const uint32_t rank = batch.ranks[Pick(batch.ranks.size())];
  const Key key = batch.key;
  if (batch.waiting.erase(rank) > 0 && Pick(2) == 0) TakeBack(rank, key);
}

void RandomSchedule::TakeBack(uint32_t rank, const Key& key) {
  if (states_[rank].dead || !states_[rank].connected) return;
  Trace(absl::StrCat("rank ", rank, " takes back op ", key.second, " of '", key.first, "'"));
  const GroupName group = {key.first, key.first.empty() ? std::vector<uint32_t>{} : program_.sub()};
  const WaiterId id = h_.Withdraw(processes_[rank], key.second, group);
  if (h_.StatusOf(id).ok()) DropParts(rank, &key, h_.Context(processes_[rank]).attempt);
  Absorb();
}

void RandomSchedule::CheckBatches() {
  ForEachAnswered(&batches_, [this](WaiterId id, const Batch& batch) { CheckBatch(id, batch); });
}

void RandomSchedule::CheckBatch(WaiterId id, const Batch& batch) {
  const absl::Status status = h_.StatusOf(id);
  const std::vector<uint32_t> completed =
      status.ok() ? h_.CompletedOf(id) : std::vector<uint32_t>();
  Trace(absl::StrCat("  batch ", id, ": ", status.ToString(), ", parts ",
                     absl::StrJoin(completed, ","), " have completed"));
  EXPECT_NE(status.code(), absl::StatusCode::kInvalidArgument) << status;
  if (!completed.empty()) CheckAllPresent(batch.key);
  for (uint32_t part : completed) {
    const uint32_t rank = batch.ranks[part];
    if (batch.waiting.count(rank) > 0 && !IsLost(rank)) TakeResult(rank, batch.key, id);
  }
  if (!completed.empty()) return;
  for (size_t i = 0; i < batch.ranks.size(); ++i) {  // all have ended
    const WaiterId waiter = NodeBatches::PartId(id, i);
    if (parts_.erase(waiter) > 0) arrived_[batch.key].erase(waiter);
  }
}

void RandomSchedule::DropParts(uint32_t rank, const Key* key, uint64_t below) {
  if (key != nullptr) counts_from_[{rank, *key}] = below;
  for (auto& [id, batch] : batches_) {
    if (key == nullptr) batch.waiting.erase(rank);
  }
  for (auto it = parts_.begin(); it != parts_.end();) {
    const auto& [waiter, part] = *it;
    const bool ends =
        part.rank == rank && (key == nullptr || part.key == *key) && part.attempt < below;
    if (ends) arrived_[part.key].erase(waiter);
    it = ends ? parts_.erase(it) : std::next(it);
  }
}

void RandomSchedule::DropExpiredParts() {
  for (auto it = parts_.begin(); it != parts_.end();) {
    const bool expired = it->second.deadline <= h_.now();
    if (expired) arrived_[it->second.key].erase(it->first);
    it = expired ? parts_.erase(it) : std::next(it);
  }
}

void RandomSchedule::CheckWaitingRanksAreNotMissing() {
  for (const PendingCollective& pending : h_.coordinator().GetStatus(h_.now()).pending) {
    for (const auto& [id, call] : calls_) {
      if (call.request.group.name != pending.group.name) continue;
      if (call.request.sequence != pending.sequence || !h_.Parked(id)) continue;
      EXPECT_EQ(std::count(pending.missing.begin(), pending.missing.end(), call.rank), 0)
          << "rank " << call.rank << " waits in op " << pending.sequence;
    }
  }
}

}  // namespace muster::core
