// The part of RandomSchedule that checks the invariants after every step.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/core/random/random_schedule.h"

namespace muster::core {

void RandomSchedule::CheckActivities() {
  for (const MemberStatus& member : h_.coordinator().GetStatus(h_.now()).members) {
    if (!member.latest.Summarize().goes_on) continue;
    EXPECT_NE(member.waiting_in, "") << member.activity << ", but no call of it waits";
  }
}

bool RandomSchedule::IsLost(uint32_t rank) {
  if (Pick(8) != 0) return false;
  Trace(absl::StrCat("  the answer to rank ", rank, " is lost"));
  lost_.insert(rank);
  return true;
}

void RandomSchedule::Absorb() {
  CheckAnswers();
  Contribute();
  CheckAnswers();
  if (Pick(4) == 0) {
    CheckWaitingRanksAreNotMissing();
    CheckActivities();
  }
  for (uint32_t rank : std::exchange(lost_, {})) Break(rank);
}

void RandomSchedule::CheckAnswers() {
  for (auto& [key, arrivals] : arrived_) {
    for (auto it = arrivals.begin(); it != arrivals.end();) {
      const bool failed = !h_.Parked(it->first) && !h_.StatusOf(it->first).ok();
      it = failed ? arrivals.erase(it) : std::next(it);
    }
  }
  CheckBatches();
  ForEachAnswered(&calls_, [this](WaiterId id, const Call& call) { CheckAnswer(id, call); });
  ForEachAnswered(&acquires_, [this](WaiterId id, const Acquire& a) { CheckLease(id, a); });
  ForEachAnswered(&completes_, [this](WaiterId id, const Complete& complete) {
    if (h_.StatusOf(id).ok() && !IsLost(complete.rank)) Completed(complete);
  });
}

void RandomSchedule::Completed(const Complete& complete) {
  states_[complete.rank].known[complete.name] = {complete.token, absl::OkStatus(),
                                                 std::make_shared<std::string>(complete.value)};
  if (complete.name != LeaseName()) return;
  ++lease_;  // the next piece of work
  for (State& state : states_) state.held = 0;
}

void RandomSchedule::CheckAnswer(WaiterId id, const Call& call) {
  const CollectiveRequest& request = call.request;
  const absl::Status status = h_.StatusOf(id);
  Trace(absl::StrCat("  rank ", call.rank, " op ", request.sequence, " of '", request.group.name,
                     "': ", status.ToString()));
  EXPECT_NE(status.code(), absl::StatusCode::kInvalidArgument) << status;
  if (!status.ok()) return;
  const Key key = {request.group.name, request.sequence};
  CheckAllPresent(key);
  if (!IsLost(call.rank)) TakeResult(call.rank, key, id);
}

void RandomSchedule::CheckAllPresent(const Key& key) {
  const auto& [group, sequence] = key;
  const std::vector<uint32_t> ranks = program_.Ranks(group);
  std::set<uint32_t> present;
  for (const auto& [waiter, who] : arrived_[key]) present.insert(who);
  EXPECT_EQ(present, std::set<uint32_t>(ranks.begin(), ranks.end()))
      << "op " << sequence << " of '" << group << "' completed without all";
  for (auto it = parts_.begin(); it != parts_.end();) {
    it = it->second.key == key ? parts_.erase(it) : std::next(it);
  }
}

void RandomSchedule::TakeResult(uint32_t rank, const Key& key, WaiterId id) {
  const auto& [group, sequence] = key;
  completed_.insert(key);
  EXPECT_EQ(processes_[rank].next[group], sequence) << "rank " << rank;
  processes_[rank].next[group] = sequence + 1;
  const std::vector<std::string> expected = program_.Expected(rank, group, sequence);
  if (!std::holds_alternative<NodeAnswer>(h_.ReplyTo(id).answer) || !expected.empty()) {
    EXPECT_EQ(h_.PayloadsOf(id), expected) << "rank " << rank;
  }
}

void RandomSchedule::CheckLease(WaiterId id, const Acquire& acquire) {
  const absl::Status status = h_.StatusOf(id);
  Trace(absl::StrCat("  rank ", acquire.rank, " lease: ", status.ToString(), " token ",
                     h_.TokenOf(id)));
  if (!status.ok() || IsLost(acquire.rank)) return;
  const uint64_t token = h_.TokenOf(id);
  if (token == 0) {
    const std::string result = h_.LeaseResultOf(id);
    EXPECT_EQ(published_.count(result), 1u) << result << " was never published";
    const auto& outcomes = outcomes_.emplace(acquire.name, result);
    EXPECT_EQ(outcomes.first->second, result) << "two outcomes of " << acquire.name;
    states_[acquire.rank].known[acquire.name] =
        std::get<LeaseResult>(std::get<LeaseAnswer>(h_.ReplyTo(id).answer));
    return;
  }
  EXPECT_GT(token, highest_token_) << "tokens only grow";
  highest_token_ = token;
  states_[acquire.rank].highest_token = token;
  State& state = states_[acquire.rank];
  for (uint32_t r = 0; r < size_; ++r) {
    EXPECT_EQ(states_[r].held, 0u)
        << "rank " << r << " holds the lease that rank " << acquire.rank << " was granted";
  }
  // The process's loss will free the lease, or the work has been done meanwhile.
  if (state.dead || state.leaving || acquire.name != LeaseName()) return;
  state.held = token;
  state.held_request = acquire.request_id;
}

}  // namespace muster::core
