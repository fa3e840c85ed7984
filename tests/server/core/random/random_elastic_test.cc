// Random schedules of an elastic job, checked against invariants.
//
// Processes join, make barriers, ask for new epochs, lose connections and answers, die and are
// replaced, while the coordinator is restarted. After every answer:
//   1. All members of an epoch have the same roster, and each has its own rank in it.
//   2. Epoch numbers only grow.
//   3. A barrier completes only if every member of that epoch's roster has called it.
//   4. Survivors keep their order, and rank 0 is a survivor.
//   5. Every call ends.
// A failing seed is printed. MUSTER_TEST_SEED=N runs only that seed and prints its schedule.

#include <algorithm>
#include <cstdlib>
#include <deque>
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

constexpr int kSeeds = 4'000;
constexpr int kSteps = 150;
constexpr uint32_t kPlaces = 4;
constexpr uint32_t kLeast = 2;
constexpr size_t kMostAlive = 6;

class Schedule {
 public:
  Schedule(uint64_t seed, bool verbose)
      : random_(seed), verbose_(verbose), h_(Harness::ElasticOptions(kLeast, kPlaces)) {
    for (uint32_t i = 0; i < kPlaces; ++i) Start();
  }

  void Run() {
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) Step();
    h_.Advance(absl::Hours(2));  // every wait has a deadline
    Absorb();
    for (const Participant& participant : participants_) {
      EXPECT_EQ(participant.call, 0u) << Name(participant) << ": its call was forgotten";
    }
  }

  size_t epochs() const { return epochs_.size(); }

 private:
  enum class Kind { kJoin, kRejoin, kBarrier };
  struct Participant {
    Process process;
    bool dead = false;
    bool connected = false;
    std::optional<EpochBroken> broken;  // the event that ended its epoch
    uint64_t highest_epoch = 0;
    WaiterId call = 0;  // the call in flight
    Kind kind = Kind::kJoin;
    size_t events_seen = 0;  // the number of events seen on this stream
  };
  struct Formed {
    std::shared_ptr<const Roster> roster;
    std::map<uint64_t, std::set<Incarnation>> called;  // barriers, by sequence number
  };

  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  void Trace(const std::string& text) {
    if (verbose_) std::cerr << text << "\n";
  }
  static std::string Name(const Participant& participant) {
    return absl::StrCat("pid ", participant.process.identity.pid);
  }
  static bool InEpoch(const Participant& participant) {
    return participant.process.epoch.number != 0;
  }

  void Step() {
    Participant& participant = participants_[Pick(participants_.size())];
    switch (Pick(16)) {
      case 0:
        return Cut(participant);
      case 1:
        if (Pick(6) == 0) return Kill(participant);
        return;
      case 2:
        if (Pick(6) == 0) return Restart();
        return;
      case 3:
        return Start();
      case 4:
      case 5:
        return Pass();
      case 6:
        if (Pick(8) == 0) return Call(participant, Kind::kRejoin);
        return;
      default:
        return Continue(participant);
    }
  }

  // Makes the next call of the process's program.
  void Continue(Participant& participant) {
    if (participant.dead) return;
    if (!participant.connected) return Attach(participant);
    Call(participant, !InEpoch(participant) ? Kind::kJoin
                      : participant.broken  ? Kind::kRejoin
                                            : Kind::kBarrier);
  }

  void Start() {
    size_t alive = 0;
    for (const Participant& participant : participants_) alive += !participant.dead;
    if (alive >= kMostAlive) return;
    participants_.emplace_back();
    participants_.back().process = h_.New();
    Trace(absl::StrCat(Name(participants_.back()), " starts"));
    Attach(participants_.back());
  }

  void Attach(Participant& participant) {
    Claim claim;
    if (InEpoch(participant)) {
      claim = h_.ClaimOf(participant.process, participant.process.next[""]);
      if (participant.broken) {
        claim.broken = BrokenClaim{participant.broken->reason, {}};
        for (const Failure& f : participant.broken->failures) {
          claim.broken->failures.push_back({f.rank, f.member, f.cause, {}, f.activity});
        }
      }
    }
    claim.highest_epoch = participant.highest_epoch;
    h_.Attach(participant.process, claim);
    participant.events_seen = 0;
    const std::optional<absl::Status> end = h_.EndOf(participant.process.stream);
    Trace(absl::StrCat(Name(participant), " attaches: ", end ? end->ToString() : "OK"));
    participant.connected = !end;
    // The process is not in the next epoch, so it ends.
    if (end && end->code() == absl::StatusCode::kAborted) participant.dead = true;
    Absorb();
  }

  void Call(Participant& participant, Kind kind) {
    if (participant.dead || !participant.connected || participant.call != 0) return;
    if (!InEpoch(participant) && kind != Kind::kJoin) return;
    Trace(absl::StrCat(Name(participant), kind == Kind::kJoin     ? " joins"
                                          : kind == Kind::kRejoin ? " rejoins"
                                                                  : " calls the barrier"));
    participant.kind = kind;
    const absl::Duration timeout = absl::Seconds(1 + Pick(200));
    if (kind == Kind::kJoin) participant.call = h_.Join(participant.process, {}, timeout);
    if (kind == Kind::kRejoin) participant.call = h_.Rejoin(participant.process, timeout);
    if (kind == Kind::kBarrier) {
      const uint64_t sequence = participant.process.next[""];
      epochs_.at(participant.process.epoch.nonce)
          .called[sequence]
          .insert(participant.process.identity.incarnation);
      participant.call = h_.Barrier(participant.process, "", timeout);
      participant.process.next[""] = sequence;
    }
    Absorb();
  }

  void Cut(Participant& participant) {
    if (!participant.connected) return;
    Trace(absl::StrCat(Name(participant), " is cut off"));
    participant.connected = false;
    participant.call = 0;
    h_.CloseStream(participant.process);
    Absorb();
  }

  void Kill(Participant& participant) {
    if (participant.dead) return;
    Trace(absl::StrCat(Name(participant), " dies"));
    participant.dead = true;
    Cut(participant);
    if (Pick(2) == 0) h_.ReportExit(participant.process, true, 9);
    Absorb();
  }

  void Restart() {
    Trace("the daemon is killed and restarted");
    h_.Restart();
    for (Participant& participant : participants_) {
      participant.connected = false;
      participant.call = 0;
    }
  }

  void Pass() {
    const absl::Duration time = absl::Milliseconds(1 + Pick(Pick(8) == 0 ? 90'000 : 4000));
    Trace(absl::StrCat("pass ", absl::FormatDuration(time)));
    h_.Advance(time);
    Absorb();
  }

  // Takes the events and answers that have arrived.
  void Absorb() {
    for (Participant& participant : participants_) {
      if (participant.dead || !participant.connected) continue;
      const auto events = h_.Events<EpochBroken>(participant.process.stream);
      for (; participant.events_seen < events.size(); ++participant.events_seen) {
        if (events[participant.events_seen].epoch == participant.process.epoch)
          participant.broken = events[participant.events_seen];
      }
      if (const auto end = h_.EndOf(participant.process.stream)) {
        Trace(absl::StrCat(Name(participant), ": its stream ends: ", end->ToString()));
        participant.connected = false;
        participant.call = 0;
        participant.dead = true;  // these schedules never replace it by its own session
        continue;
      }
      if (participant.call == 0 || h_.Parked(participant.call)) continue;
      const WaiterId call = std::exchange(participant.call, 0);
      Trace(absl::StrCat("  ", Name(participant), ": ", h_.StatusOf(call).ToString()));
      if (!h_.StatusOf(call).ok()) continue;
      if (Pick(12) == 0) {
        Trace("  the answer is lost");
        Cut(participant);
        return Absorb();
      }
      participant.kind == Kind::kBarrier ? CheckBarrier(participant)
                                         : CheckPlace(participant, call);
    }
  }

  void CheckBarrier(Participant& participant) {
    Process& p = participant.process;
    const Formed& formed = epochs_.at(p.epoch.nonce);
    for (const RosterEntry& entry : *formed.roster) {
      EXPECT_EQ(formed.called.at(p.next[""]).count(entry.member.incarnation), 1u)
          << "barrier " << p.next[""] << " of epoch " << p.epoch.number << " without pid "
          << entry.member.pid;
    }
    ++p.next[""];
  }

  void CheckPlace(Participant& participant, WaiterId call) {
    Process& p = participant.process;
    const uint64_t before = p.epoch.number;
    h_.TakePlace(p, call);
    participant.broken.reset();
    participant.events_seen = 0;  // the end of this epoch may have been sent before
    EXPECT_GT(p.epoch.number, before);
    participant.highest_epoch = p.epoch.number;
    EXPECT_EQ((*p.roster)[p.rank].member.incarnation, p.identity.incarnation);
    const auto [it, first] = epochs_.emplace(p.epoch.nonce, Formed{p.roster, {}});
    if (first) {
      EXPECT_GT(p.epoch.number, highest_) << "epoch numbers only grow";
      highest_ = p.epoch.number;
      CheckRoster(*p.roster);
    }
    const Roster& known = *it->second.roster;
    ASSERT_EQ(known.size(), p.roster->size());
    for (size_t i = 0; i < known.size(); ++i) {
      EXPECT_EQ(known[i].member.incarnation, (*p.roster)[i].member.incarnation);
    }
    EXPECT_EQ(known[p.rank].previous_rank.has_value(), before != 0) << "survivor or newcomer";
  }

  static void CheckRoster(const Roster& roster) {
    std::vector<uint32_t> survivors;
    for (const RosterEntry& entry : roster) {
      if (entry.previous_rank) survivors.push_back(*entry.previous_rank);
    }
    EXPECT_TRUE(std::is_sorted(survivors.begin(), survivors.end()));
    EXPECT_TRUE(survivors.empty() || roster[0].previous_rank.has_value());
    EXPECT_LE(roster.size(), kPlaces);
    EXPECT_GE(roster.size(), kLeast);
  }

  std::mt19937_64 random_;
  const bool verbose_;
  Harness h_;
  std::deque<Participant> participants_;
  std::map<uint64_t, Formed> epochs_;  // by nonce
  uint64_t highest_ = 0;
};

TEST(RandomElasticTest, InvariantsHold) {
  uint64_t only = 0;
  const char* seed_variable = std::getenv("MUSTER_TEST_SEED");
  const bool one = seed_variable != nullptr && absl::SimpleAtoi(seed_variable, &only);
  size_t epochs = 0;
  for (uint64_t seed = one ? only : 1; seed <= (one ? only : kSeeds); ++seed) {
    Schedule schedule(seed, one);
    schedule.Run();
    epochs += schedule.epochs();
    ASSERT_FALSE(HasFailure()) << "seed " << seed
                               << "; replay with --test_env=MUSTER_TEST_SEED=" << seed;
  }
  if (!one) {
    EXPECT_GT(epochs, 2 * size_t{kSeeds}) << "the schedules hardly re-form";
  }
}

}  // namespace
}  // namespace muster::core
