// The part of RandomSchedule that makes events happen.

#include "tests/server/core/random/random_schedule.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::core {
namespace {

constexpr int kSteps = 120;

}  // namespace

void RandomSchedule::Run() {
  for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) Step();
  h_.Advance(absl::Hours(2));  // every wait has a deadline
  Absorb();
  for (const auto& [id, call] : calls_) ADD_FAILURE() << "call " << id << " was forgotten";
  for (const auto& [id, call] : acquires_) ADD_FAILURE() << "acquire " << id << " was forgotten";
  for (const auto& [id, batch] : batches_) ADD_FAILURE() << "batch " << id << " was forgotten";
  EXPECT_EQ(h_.coordinator().NextDeadline(), absl::InfiniteFuture());
}

uint32_t RandomSchedule::Pick(uint32_t n) {
  return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_);
}

void RandomSchedule::Trace(const std::string& text) {
  if (verbose_) std::cerr << text << "\n";
}

void RandomSchedule::Step() {
  const uint32_t rank = Pick(size_);
  switch (Pick(27)) {
    case 21:
    case 22:
    case 23:
      return SendTogether();
    case 24:
      return RepeatBatch();
    case 25:
      return CancelBatch();
    case 26:
      return LeaveBatch();
    case 20:
      if (Pick(4) == 0) return Restart();
      return;
    case 0:
      return Break(rank);
    case 1:
    case 2:
      return Heal(rank);
    case 3:
      return CancelSome();
    case 4:
      return Repeat(rank);
    case 5:
      return Pass();
    case 6:
    case 7:
      return AcquireLease(rank);
    case 8:
      return CompleteLease(rank);
    case 9:
      return AbandonLease(rank);
    case 10:
      if (Pick(12) == 0) return Kill(rank);
      return;
    case 11:
      if (Pick(12) == 0) return Leave(rank);
      return;
    default:
      return CallNext(rank);
  }
}

void RandomSchedule::CallNext(uint32_t rank) {
  const std::string group = Pick(3) == 0 ? "sub" : "";
  if (!MayCallNext(rank, group)) return;
  CollectiveRequest request = RequestAt(rank, group, processes_[rank].next[group]);
  request.call.wait_timeout = absl::Seconds(1 + Pick(60));
  Send(rank, request);
}

bool RandomSchedule::MayCallNext(uint32_t rank, const std::string& group) const {
  const State& state = states_[rank];
  if (state.dead || !state.connected || InCall(rank, group)) return false;
  if (group == "sub" && !program_.HasSub(rank)) return false;
  const auto& next = processes_[rank].next;
  const auto of_group = next.find(group);
  return (of_group == next.end() ? 0 : of_group->second) < program_.OpsOf(group).size();
}

CollectiveRequest RandomSchedule::RequestAt(uint32_t rank, const std::string& group,
                                            uint64_t sequence) {
  Process& p = processes_[rank];
  const RandomProgram::Op& op = program_.OpsOf(group)[sequence];
  const uint64_t next = p.next[group];
  CollectiveRequest request =
      h_.Request(p, op.kind, program_.PayloadOf(rank, group, sequence), group,
                 group.empty() ? std::vector<uint32_t>{} : program_.sub());
  p.next[group] = next;  // until it completes
  request.sequence = sequence;
  request.root = op.root;
  request.label = absl::StrCat("step ", sequence);
  return request;
}

void RandomSchedule::Restart() {
  Trace("the daemon is killed and restarted");
  h_.Restart();
  calls_.clear();
  batches_.clear();
  parts_.clear();
  counts_from_.clear();
  acquires_.clear();
  completes_.clear();
  for (State& state : states_) state.connected = false;
  for (auto it = arrived_.begin(); it != arrived_.end();) {
    it = completed_.count(it->first) > 0 ? std::next(it) : arrived_.erase(it);
  }
  if (Pick(2) == 0) return;
  for (uint32_t rank = 0; rank < size_; ++rank) Heal(rank);
}

Claim RandomSchedule::ClaimOf(uint32_t rank) {
  const State& state = states_[rank];
  Process& p = processes_[rank];
  Claim claim = h_.ClaimOf(p, p.next[""]);
  if (program_.HasSub(rank)) {
    claim.groups.push_back({{"sub", program_.sub()}, p.next["sub"], ""});
  }
  if (state.held != 0) {
    claim.held.push_back({LeaseName(), LeaseScope::kJob, state.held, state.held_request});
  }
  for (const auto& [name, result] : state.known) {
    claim.completed.push_back({name, LeaseScope::kJob, result});
  }
  for (const EpochBroken& event : h_.BrokenEvents(p.stream)) states_[rank].broken = event;
  if (state.broken) {
    claim.broken = BrokenClaim{state.broken->reason, {}};
    for (const Failure& f : state.broken->failures) {
      claim.broken->failures.push_back({f.rank, f.member, f.cause, {}, f.activity});
    }
  }
  claim.highest_token = state.highest_token;
  claim.leaving = state.leaving;
  return claim;
}

void RandomSchedule::Contribute() {
  for (uint32_t rank = 0; rank < size_; ++rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected) continue;
    const auto needs = h_.Events<NeedContribution>(processes_[rank].stream);
    while (state.connected && state.events_seen < needs.size()) {
      const NeedContribution& need = needs[state.events_seen++];
      const std::string& group = need.group.name;
      Trace(absl::StrCat("rank ", rank, " contributes to op ", need.sequence, " of '", group, "'"));
      EXPECT_LT(need.sequence, processes_[rank].next[group]) << "rank " << rank;
      const CollectiveRequest request = RequestAt(rank, group, need.sequence);
      const WaiterId id = h_.NextId();
      arrived_[{group, need.sequence}][id] = rank;
      h_.Absorb(id, h_.coordinator().Step(h_.now(), id, request));
    }
  }
}

void RandomSchedule::Send(uint32_t rank, const CollectiveRequest& request) {
  Trace(absl::StrCat("rank ", rank, " sends op ", request.sequence, " of '", request.group.name,
                     "'"));
  const WaiterId id = h_.NextId();
  calls_[id] = {rank, request};
  arrived_[{request.group.name, request.sequence}][id] = rank;
  states_[rank].sent.push_back(request);
  const Key key = {request.group.name, request.sequence};
  if (!h_.Recovering()) DropParts(rank, &key, request.call.attempt);
  h_.Absorb(id, h_.coordinator().Step(h_.now(), id, request));
  Absorb();
}

bool RandomSchedule::InCall(uint32_t rank, const std::string& group) const {
  for (const auto& [id, call] : calls_) {
    if (call.rank == rank && call.request.group.name == group) return true;
  }
  for (const auto& [id, batch] : batches_) {
    if (batch.key.first == group && batch.waiting.count(rank) > 0) return true;
  }
  return false;
}

void RandomSchedule::Repeat(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || state.sent.empty()) return;
  const CollectiveRequest late = state.sent[Pick(state.sent.size())];
  const WaiterId id = h_.NextId();
  Trace(absl::StrCat("late: op ", late.sequence, " of '", late.group.name, "' of rank ", rank));
  arrived_[{late.group.name, late.sequence}][id] = rank;
  h_.Absorb(id, h_.coordinator().Step(h_.now(), id, late));
  Absorb();
}

void RandomSchedule::CancelSome() {
  if (calls_.empty()) return;
  auto it = calls_.begin();
  std::advance(it, Pick(calls_.size()));
  Trace(absl::StrCat("cancel of call ", it->first));
  const WaiterId id = it->first;
  arrived_[{it->second.request.group.name, it->second.request.sequence}].erase(id);
  calls_.erase(it);
  h_.Cancel(id);
  Absorb();
}

void RandomSchedule::Break(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || !state.connected) return;
  Trace(absl::StrCat("connection of rank ", rank, " breaks"));
  state.connected = false;
  DropParts(rank, nullptr, ~uint64_t{0});
  h_.CloseStream(processes_[rank]);
  Absorb();
}

void RandomSchedule::Heal(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || state.connected) return;
  Trace(absl::StrCat("rank ", rank, " attaches again"));
  h_.Attach(processes_[rank], ClaimOf(rank));
  state.connected = !h_.EndOf(processes_[rank].stream).has_value();
  state.events_seen = 0;
  const auto attached = h_.Events<Attached>(processes_[rank].stream);
  if (!attached.empty()) {
    const auto& standing = attached[0].standing_tokens;
    if (std::count(standing.begin(), standing.end(), state.held) == 0) state.held = 0;
  }
  Absorb();
}

void RandomSchedule::Kill(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead) return;
  Trace(absl::StrCat("rank ", rank, " dies"));
  state.dead = true;
  state.held = 0;
  DropParts(rank, nullptr, ~uint64_t{0});
  if (Pick(2) == 0) h_.ReportExit(processes_[rank], true, 9);
  if (state.connected) h_.CloseStream(processes_[rank]);
  Absorb();
}

void RandomSchedule::Leave(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || !state.connected || state.leaving) return;
  Trace(absl::StrCat("rank ", rank, " leaves"));
  state.leaving = true;
  state.held = 0;
  h_.Leave(processes_[rank], absl::Seconds(1 + Pick(60)));
  Absorb();
}

void RandomSchedule::Pass() {
  const absl::Duration time = absl::Milliseconds(1 + Pick(3000));
  Trace(absl::StrCat("pass ", absl::FormatDuration(time)));
  h_.Advance(time);
  Absorb();
  DropExpiredParts();
}

void RandomSchedule::AcquireLease(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || !state.connected || state.held != 0) return;
  const uint64_t request = ++requests_;
  Trace(absl::StrCat("rank ", rank, " asks for the lease, request ", request));
  const WaiterId id = h_.NextId();
  acquires_[id] = {rank, request, LeaseName()};
  h_.Absorb(
      id, h_.coordinator().Step(
              h_.now(), id,
              AcquireLeaseRequest{h_.Context(processes_[rank], absl::Seconds(1 + Pick(60))),
                                  processes_[rank].epoch, LeaseName(), LeaseScope::kJob, request}));
  Absorb();
}

void RandomSchedule::CompleteLease(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || !state.connected || state.held == 0) return;
  Trace(absl::StrCat("rank ", rank, " completes under token ", state.held));
  const std::string value = absl::StrCat("done by ", rank, " under ", state.held);
  published_.insert(value);
  const WaiterId id = h_.Complete(processes_[rank], LeaseName(), state.held, value);
  completes_[id] = {rank, state.held, LeaseName(), value};
  Absorb();
}

void RandomSchedule::AbandonLease(uint32_t rank) {
  State& state = states_[rank];
  if (state.dead || !state.connected || state.held == 0) return;
  Trace(absl::StrCat("rank ", rank, " gives token ", state.held, " up"));
  const uint64_t request = state.held_request;
  state.held = 0;
  h_.Abandon(processes_[rank], LeaseName(), request);
  Absorb();
}

std::string RandomSchedule::LeaseName() const { return absl::StrCat("work ", lease_); }

}  // namespace muster::core
