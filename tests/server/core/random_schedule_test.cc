// Random schedules of one coordinator against stated invariants.
//
// Each seed makes a job of 2 to 4 processes that all run one random program of collectives and
// leases. A schedule then interleaves their calls with time-outs, cancels, connections that break
// and heal (with answers lost on them), late and repeated messages, deaths, leaving, and restarts
// of the coordinator, after which the processes attach with their claims. After every step:
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
    std::string name;
  };
  struct Complete {
    uint32_t rank;
    uint64_t token;
    std::string name;
    std::string value;
  };
  struct State {
    bool dead = false;
    bool connected = true;
    bool leaving = false;
    uint64_t held = 0;          // token
    uint64_t held_request = 0;  // its request
    uint64_t highest_token = 0;
    std::map<std::string, LeaseResult> known;  // outcomes, by the name of the work
    std::optional<EpochBroken> broken;         // what it was told
    size_t events_seen = 0;                    // NeedContribution events of this stream
    std::vector<CollectiveRequest> sent;       // for late repeats
  };

  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }

  void Say(const std::string& text) {
    if (verbose_) std::cerr << text << "\n";
  }

  void Step() {
    const uint32_t rank = Pick(size_);
    switch (Pick(21)) {
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

  // The process calls the next collective of its program, unless it is in one.
  void CallNext(uint32_t rank) {
    State& state = states_[rank];
    const std::string group = Pick(3) == 0 ? "sub" : "";
    if (state.dead || !state.connected || InCall(rank, group)) return;
    if (group == "sub" && std::find(sub_.begin(), sub_.end(), rank) == sub_.end()) return;
    Process& p = processes_[rank];
    const uint64_t sequence = p.next[group];
    if (sequence >= program_[group].size()) return;
    CollectiveRequest request = RequestAt(rank, group, sequence);
    request.call.wait_timeout = absl::Seconds(1 + Pick(60));
    Send(rank, request);
  }

  // What the program says that the process calls there.
  CollectiveRequest RequestAt(uint32_t rank, const std::string& group, uint64_t sequence) {
    Process& p = processes_[rank];
    const Op& op = program_[group][sequence];
    const uint64_t next = p.next[group];
    CollectiveRequest request = h_.Request(p, op.kind, PayloadOf(rank, op, sequence), group,
                                           group.empty() ? std::vector<uint32_t>{} : sub_);
    p.next[group] = next;  // until it completes
    request.sequence = sequence;
    request.root = op.root;
    request.label = absl::StrCat("step ", sequence);
    return request;
  }

  // Nothing more is heard of the daemon; what was parked in it is repeated by those who attach to
  // its successor.
  void Restart() {
    Say("the daemon is killed and restarted");
    h_.Restart();
    calls_.clear();
    acquires_.clear();
    completes_.clear();
    for (State& state : states_) state.connected = false;
    for (auto it = arrived_.begin(); it != arrived_.end();) {
      it = completed_.count(it->first) > 0 ? std::next(it) : arrived_.erase(it);
    }
    if (Pick(2) == 0) return;
    for (uint32_t rank = 0; rank < size_; ++rank) Heal(rank);
  }

  Claim ClaimOf(uint32_t rank) {
    const State& state = states_[rank];
    Process& p = processes_[rank];
    Claim claim = h_.ClaimOf(p, p.next[""]);
    if (std::count(sub_.begin(), sub_.end(), rank) > 0) {
      claim.groups.push_back({{"sub", sub_}, p.next["sub"], ""});
    }
    if (state.held != 0) {
      claim.held.push_back({LeaseName(), LeaseScope::kJob, state.held, state.held_request});
    }
    for (const auto& [name, result] : state.known) {
      claim.completed.push_back({name, LeaseScope::kJob, result});
    }
    for (const EpochBroken& told : h_.BrokenEvents(p.stream)) states_[rank].broken = told;
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

  // Sends once more what others need of a collective that the process has completed.
  void Contribute() {
    for (uint32_t rank = 0; rank < size_; ++rank) {
      State& state = states_[rank];
      if (state.dead || !state.connected) continue;
      const auto needs = h_.Events<NeedContribution>(processes_[rank].stream);
      while (state.connected && state.events_seen < needs.size()) {
        const NeedContribution& need = needs[state.events_seen++];
        const std::string& group = need.group.name;
        Say(absl::StrCat("rank ", rank, " contributes to op ", need.sequence, " of '", group, "'"));
        EXPECT_LT(need.sequence, processes_[rank].next[group]) << "rank " << rank;
        const CollectiveRequest request = RequestAt(rank, group, need.sequence);
        const WaiterId id = h_.NextId();
        arrived_[{group, need.sequence}][id] = rank;
        h_.Absorb(id, h_.coordinator().Collective(h_.now(), id, request));
      }
    }
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
    acquires_[id] = {rank, request, LeaseName()};
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
    published_.insert(value);
    const WaiterId id = h_.Complete(processes_[rank], LeaseName(), state.held, value);
    completes_[id] = {rank, state.held, LeaseName(), value};
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

  // An answer is lost, and with it the connection that it came on.
  bool IsLost(uint32_t rank) {
    if (Pick(8) != 0) return false;
    Say(absl::StrCat("  the answer to rank ", rank, " is lost"));
    lost_.insert(rank);
    return true;
  }

  // Looks at the answers that have come.
  void Absorb() {
    LookAtAnswers();
    Contribute();
    LookAtAnswers();
    for (uint32_t rank : std::exchange(lost_, {})) Break(rank);
  }

  void LookAtAnswers() {
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
    for (auto it = completes_.begin(); it != completes_.end();) {
      if (h_.Parked(it->first)) {
        ++it;
        continue;
      }
      if (h_.StatusOf(it->first).ok() && !IsLost(it->second.rank)) Completed(it->second);
      it = completes_.erase(it);
    }
  }

  void Completed(const Complete& complete) {
    states_[complete.rank].known[complete.name] = {complete.token, absl::OkStatus(),
                                                   std::make_shared<std::string>(complete.value)};
    if (complete.name != LeaseName()) return;
    ++lease_;  // the next piece of work
    for (State& state : states_) state.held = 0;
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
    if (IsLost(call.rank)) return;
    completed_.insert(key);
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
    // Its loss will free the lease; or the work has been done meanwhile.
    if (state.dead || state.leaving || acquire.name != LeaseName()) return;
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
  std::set<std::string> published_;              // values that were sent as outcomes
  std::map<std::string, std::string> outcomes_;  // what waiters were told, by the name of the work
  std::map<WaiterId, Complete> completes_;
  std::set<std::pair<std::string, uint64_t>> completed_;  // collectives that somebody has completed
  std::set<uint32_t> lost_;                               // ranks whose answers were lost just now
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
