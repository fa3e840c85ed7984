// Random schedules of one coordinator against stated invariants.
//
// Each seed makes a job of 2 to 4 processes that all run one random program of collectives and
// leases. A schedule then interleaves their calls with time-outs, cancels, connections that break
// and heal, late and repeated messages, deaths and leaving. After every step:
//   1. no collective completes without every rank of its group parked in it; withdrawn arrivals do
//   not count;
//   2. all ranks get the same result of a collective, and it is made of what was sent;
//   3. no call is answered twice or after it was cancelled (Harness), and none is forgotten;
//   4. a lease has at most one holder, and its result is the one that was published;
//   5. lease tokens only grow.
// A failing seed is printed; MUSTER_TEST_SEED=N runs that one alone and prints its schedule.

#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/server/core/harness.h"

namespace muster::core {
namespace {

constexpr int kSeeds = 12'000;
constexpr int kSteps = 120;

struct Op {
  CollectiveKind kind;
  uint32_t root;
  std::string group;  // "" or "sub"
};

class Schedule {
 public:
  explicit Schedule(uint64_t seed, bool verbose)
      : random_(seed), verbose_(verbose), size_(2 + Pick(3)), h_(size_) {
    processes_ = h_.Formed(size_);
    states_.resize(size_);
    for (uint32_t r = 0; r < size_; ++r) sub_.push_back(size_ - 1 - r);
    if (size_ > 2) sub_.pop_back();
    for (int i = 0; i < 40; ++i) {
      const std::string group = Pick(3) == 0 ? "sub" : "";
      const uint32_t members = group.empty() ? size_ : sub_.size();
      const auto kind = static_cast<CollectiveKind>(Pick(4));
      const bool rooted = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kGather;
      program_[group].push_back({kind, rooted ? Pick(members) : 0, group});
    }
  }

  void Run() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) Step();
    h_.Advance(absl::Hours(2));  // every wait has a deadline
    Absorb();
    for (const auto& [id, call] : calls_) ADD_FAILURE() << "call " << id << " was forgotten";
    for (const auto& [id, call] : acquires_) ADD_FAILURE() << "acquire " << id << " was forgotten";
    EXPECT_EQ(h_.coordinator().NextDeadline(), absl::InfiniteFuture());
  }

 private:
  struct Call {
    uint32_t rank;
    CollectiveRequest request;
  };
  struct Acquire {
    uint32_t rank;
    uint64_t request_id;
  };
  struct State {
    bool dead = false;
    bool connected = true;
    bool leaving = false;
    uint64_t held = 0;                    // token
    uint64_t held_request = 0;            // its request
    std::vector<CollectiveRequest> sent;  // for late repeats
  };

  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }

  void Say(const std::string& text) {
    if (verbose_) std::cerr << text << "\n";
  }

  void Step() {
    const uint32_t rank = Pick(size_);
    switch (Pick(20)) {
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

  // The process calls the next collective of its program, unless it is in one.
  void CallNext(uint32_t rank) {
    State& state = states_[rank];
    const std::string group = Pick(3) == 0 ? "sub" : "";
    if (state.dead || !state.connected || InCall(rank, group)) return;
    if (group == "sub" && std::find(sub_.begin(), sub_.end(), rank) == sub_.end()) return;
    Process& p = processes_[rank];
    const uint64_t sequence = p.next[group];
    if (sequence >= program_[group].size()) return;
    const Op& op = program_[group][sequence];
    CollectiveRequest request = h_.Request(p, op.kind, PayloadOf(rank, op, sequence), group,
                                           group.empty() ? std::vector<uint32_t>{} : sub_);
    p.next[group] = sequence;  // until it completes
    request.root = op.root;
    request.label = absl::StrCat("step ", sequence);
    request.call.wait_timeout = absl::Seconds(1 + Pick(60));
    Send(rank, request);
  }

  // Payloads tell who sent them for which operation.
  std::string PayloadOf(uint32_t rank, const Op& op, uint64_t sequence) {
    const auto& ranks = Ranks(op.group);
    const bool sends = op.kind == CollectiveKind::kGather ||
                       op.kind == CollectiveKind::kAllGather ||
                       (op.kind == CollectiveKind::kBroadcast && ranks[op.root] == rank);
    return sends ? absl::StrCat(op.group, "/", sequence, "/", rank) : "";
  }

  std::vector<uint32_t> Ranks(const std::string& group) {
    if (!group.empty()) return sub_;
    std::vector<uint32_t> all;
    for (uint32_t r = 0; r < size_; ++r) all.push_back(r);
    return all;
  }

  void Send(uint32_t rank, const CollectiveRequest& request) {
    Say(absl::StrCat("rank ", rank, " sends op ", request.sequence, " of '", request.group.name,
                     "'"));
    const WaiterId id = h_.NextId();
    calls_[id] = {rank, request};
    arrived_[{request.group.name, request.sequence}][id] = rank;
    states_[rank].sent.push_back(request);
    h_.Absorb(id, h_.coordinator().Collective(h_.now(), id, request));
    Absorb();
  }

  bool InCall(uint32_t rank, const std::string& group) const {
    for (const auto& [id, call] : calls_) {
      if (call.rank == rank && call.request.group.name == group) return true;
    }
    return false;
  }

  // A message that was sent before arrives once more, or late.
  void Repeat(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || state.sent.empty()) return;
    const CollectiveRequest late = state.sent[Pick(state.sent.size())];
    const WaiterId id = h_.NextId();
    Say(absl::StrCat("late: op ", late.sequence, " of '", late.group.name, "' of rank ", rank));
    arrived_[{late.group.name, late.sequence}][id] = rank;
    h_.Absorb(id, h_.coordinator().Collective(h_.now(), id, late));
    Absorb();
  }

  void CancelSome() {
    if (calls_.empty()) return;
    auto it = calls_.begin();
    std::advance(it, Pick(calls_.size()));
    Say(absl::StrCat("cancel of call ", it->first));
    const WaiterId id = it->first;
    arrived_[{it->second.request.group.name, it->second.request.sequence}].erase(id);
    calls_.erase(it);
    h_.Cancel(id);
    Absorb();
  }

  // The connection ends: the client sees none of its answers.
  void Break(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected) return;
    Say(absl::StrCat("connection of rank ", rank, " breaks"));
    state.connected = false;
    h_.CloseStream(processes_[rank]);
    Absorb();
  }

  void Heal(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || state.connected) return;
    Say(absl::StrCat("rank ", rank, " attaches again"));
    h_.Attach(processes_[rank]);
    state.connected = !h_.EndOf(processes_[rank].stream).has_value();
    Absorb();
  }

  void Kill(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead) return;
    Say(absl::StrCat("rank ", rank, " dies"));
    state.dead = true;
    state.held = 0;
    if (Pick(2) == 0) h_.ReportExit(processes_[rank], true, 9);
    if (state.connected) h_.CloseStream(processes_[rank]);
    Absorb();
  }

  void Leave(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected || state.leaving) return;
    Say(absl::StrCat("rank ", rank, " leaves"));
    state.leaving = true;
    state.held = 0;
    h_.Leave(processes_[rank], absl::Seconds(1 + Pick(60)));
    Absorb();
  }

  void Pass() {
    const absl::Duration time = absl::Milliseconds(1 + Pick(3000));
    Say(absl::StrCat("pass ", absl::FormatDuration(time)));
    h_.Advance(time);
    Absorb();
  }

  void AcquireLease(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected || state.held != 0) return;
    const uint64_t request = ++requests_;
    Say(absl::StrCat("rank ", rank, " asks for the lease, request ", request));
    const WaiterId id = h_.NextId();
    acquires_[id] = {rank, request};
    h_.Absorb(id, h_.coordinator().AcquireLease(
                      h_.now(), id,
                      {h_.Context(processes_[rank], absl::Seconds(1 + Pick(60))),
                       processes_[rank].epoch, LeaseName(), LeaseScope::kJob, request}));
    Absorb();
  }

  void CompleteLease(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected || state.held == 0) return;
    Say(absl::StrCat("rank ", rank, " completes under token ", state.held));
    const std::string value = absl::StrCat("done by ", rank, " under ", state.held);
    const WaiterId id = h_.Complete(processes_[rank], LeaseName(), state.held, value);
    if (h_.StatusOf(id).ok()) {
      published_[lease_] = value;
      ++lease_;  // the next piece of work
      for (State& other : states_) other.held = 0;
    }
    Absorb();
  }

  void AbandonLease(uint32_t rank) {
    State& state = states_[rank];
    if (state.dead || !state.connected || state.held == 0) return;
    Say(absl::StrCat("rank ", rank, " gives token ", state.held, " up"));
    const uint64_t request = state.held_request;
    state.held = 0;
    h_.Abandon(processes_[rank], LeaseName(), request);
    Absorb();
  }

  std::string LeaseName() const { return absl::StrCat("work ", lease_); }

  // Looks at the answers that have come.
  void Absorb() {
    for (auto& [key, arrivals] : arrived_) {
      for (auto it = arrivals.begin(); it != arrivals.end();) {
        const bool failed = !h_.Parked(it->first) && !h_.StatusOf(it->first).ok();
        it = failed ? arrivals.erase(it) : std::next(it);
      }
    }
    for (auto it = calls_.begin(); it != calls_.end();) {
      if (h_.Parked(it->first)) {
        ++it;
        continue;
      }
      CheckAnswer(it->first, it->second);
      it = calls_.erase(it);
    }
    for (auto it = acquires_.begin(); it != acquires_.end();) {
      if (h_.Parked(it->first)) {
        ++it;
        continue;
      }
      CheckLease(it->first, it->second);
      it = acquires_.erase(it);
    }
  }

  void CheckAnswer(WaiterId id, const Call& call) {
    const CollectiveRequest& request = call.request;
    const absl::Status status = h_.StatusOf(id);
    Say(absl::StrCat("  rank ", call.rank, " op ", request.sequence, " of '", request.group.name,
                     "': ", status.ToString()));
    EXPECT_NE(status.code(), absl::StatusCode::kInvalidArgument) << status;
    if (!status.ok()) return;
    Process& p = processes_[call.rank];
    const std::vector<uint32_t> ranks = Ranks(request.group.name);
    const auto key = std::make_pair(request.group.name, request.sequence);
    std::set<uint32_t> present;
    for (const auto& [waiter, rank] : arrived_[key]) present.insert(rank);
    EXPECT_EQ(present, std::set<uint32_t>(ranks.begin(), ranks.end()))
        << "op " << request.sequence << " of '" << request.group.name << "' completed without all";
    EXPECT_EQ(p.next[request.group.name], request.sequence) << "rank " << call.rank;
    p.next[request.group.name] = request.sequence + 1;
    EXPECT_EQ(h_.PayloadsOf(id), Expected(call.rank, request)) << "rank " << call.rank;
  }

  std::vector<std::string> Expected(uint32_t rank, const CollectiveRequest& request) {
    const Op& op = program_[request.group.name][request.sequence];
    const std::vector<uint32_t> ranks = Ranks(request.group.name);
    std::vector<std::string> payloads;
    if (op.kind == CollectiveKind::kBarrier) return payloads;
    if (op.kind == CollectiveKind::kBroadcast)
      return {PayloadOf(ranks[op.root], op, request.sequence)};
    if (op.kind == CollectiveKind::kGather && ranks[op.root] != rank) return payloads;
    for (uint32_t r : ranks) payloads.push_back(PayloadOf(r, op, request.sequence));
    return payloads;
  }

  void CheckLease(WaiterId id, const Acquire& acquire) {
    const absl::Status status = h_.StatusOf(id);
    Say(absl::StrCat("  rank ", acquire.rank, " lease: ", status.ToString(), " token ",
                     h_.TokenOf(id)));
    if (!status.ok()) return;
    const uint64_t token = h_.TokenOf(id);
    if (token == 0) {
      const std::string result = h_.LeaseResultOf(id);
      EXPECT_TRUE(std::any_of(published_.begin(), published_.end(),
                              [&](const auto& p) { return p.second == result; }))
          << result << " was never published";
      return;
    }
    EXPECT_GT(token, highest_token_) << "tokens only grow";
    highest_token_ = token;
    State& state = states_[acquire.rank];
    for (uint32_t r = 0; r < size_; ++r) {
      EXPECT_EQ(states_[r].held, 0u)
          << "rank " << r << " holds the lease that rank " << acquire.rank << " was granted";
    }
    if (state.dead || state.leaving) return;  // its loss will free the lease
    state.held = token;
    state.held_request = acquire.request_id;
  }

  std::mt19937_64 random_;
  const bool verbose_;
  const uint32_t size_;
  Harness h_;
  std::vector<Process> processes_;
  std::vector<State> states_;
  std::vector<uint32_t> sub_;
  std::map<std::string, std::vector<Op>> program_;

  std::map<WaiterId, Call> calls_;
  std::map<WaiterId, Acquire> acquires_;
  // By group and sequence number: who has arrived, through which calls that have not failed.
  std::map<std::pair<std::string, uint64_t>, std::map<WaiterId, uint32_t>> arrived_;
  uint64_t requests_ = 0;
  int lease_ = 0;
  std::map<int, std::string> published_;
  uint64_t highest_token_ = 0;
};

TEST(RandomScheduleTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSeeds); ++seed) {
    Schedule(seed, one).Run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed
                               << "; replay with --test_env=MUSTER_TEST_SEED=" << seed;
  }
}

}  // namespace
}  // namespace muster::core
