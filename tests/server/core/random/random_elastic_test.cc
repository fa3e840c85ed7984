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
    for (const Actor& actor : actors_) {
      EXPECT_EQ(actor.call, 0u) << Name(actor) << ": its call was forgotten";
    }
  }

  size_t epochs() const { return epochs_.size(); }

 private:
  enum class Kind { kJoin, kRejoin, kBarrier };
  struct Actor {
    Process process;
    bool dead = false;
    bool connected = false;
    std::optional<EpochBroken> broken;  // the event that ended its epoch
    uint64_t highest_epoch = 0;
    WaiterId call = 0;  // the call in flight
    Kind kind = Kind::kJoin;
    size_t told = 0;  // the number of events seen on this stream
  };
  struct Formed {
    std::shared_ptr<const Roster> roster;
    std::map<uint64_t, std::set<Incarnation>> called;  // barriers, by sequence number
  };

  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  void Say(const std::string& text) {
    if (verbose_) std::cerr << text << "\n";
  }
  static std::string Name(const Actor& actor) {
    return absl::StrCat("pid ", actor.process.identity.pid);
  }
  static bool InEpoch(const Actor& actor) { return actor.process.epoch.number != 0; }

  void Step() {
    Actor& actor = actors_[Pick(actors_.size())];
    switch (Pick(16)) {
      case 0:
        return Cut(actor);
      case 1:
        if (Pick(6) == 0) return Kill(actor);
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
        if (Pick(8) == 0) return Call(actor, Kind::kRejoin);
        return;
      default:
        return GoOn(actor);
    }
  }

  // Makes the next call of the process's program.
  void GoOn(Actor& actor) {
    if (actor.dead) return;
    if (!actor.connected) return Attach(actor);
    Call(actor, !InEpoch(actor) ? Kind::kJoin : actor.broken ? Kind::kRejoin : Kind::kBarrier);
  }

  void Start() {
    size_t alive = 0;
    for (const Actor& actor : actors_) alive += !actor.dead;
    if (alive >= kMostAlive) return;
    actors_.emplace_back();
    actors_.back().process = h_.New();
    Say(absl::StrCat(Name(actors_.back()), " starts"));
    Attach(actors_.back());
  }

  void Attach(Actor& actor) {
    Claim claim;
    if (InEpoch(actor)) {
      claim = h_.ClaimOf(actor.process, actor.process.next[""]);
      if (actor.broken) {
        claim.broken = BrokenClaim{actor.broken->reason, {}};
        for (const Failure& f : actor.broken->failures) {
          claim.broken->failures.push_back({f.rank, f.member, f.cause, {}, f.activity});
        }
      }
    }
    claim.highest_epoch = actor.highest_epoch;
    h_.Attach(actor.process, claim);
    actor.told = 0;
    const std::optional<absl::Status> end = h_.EndOf(actor.process.stream);
    Say(absl::StrCat(Name(actor), " attaches: ", end ? end->ToString() : "OK"));
    actor.connected = !end;
    // The process is not in the next epoch, so it ends.
    if (end && end->code() == absl::StatusCode::kAborted) actor.dead = true;
    Absorb();
  }

  void Call(Actor& actor, Kind kind) {
    if (actor.dead || !actor.connected || actor.call != 0) return;
    if (!InEpoch(actor) && kind != Kind::kJoin) return;
    Say(absl::StrCat(Name(actor), kind == Kind::kJoin     ? " joins"
                                  : kind == Kind::kRejoin ? " rejoins"
                                                          : " calls the barrier"));
    actor.kind = kind;
    const absl::Duration timeout = absl::Seconds(1 + Pick(200));
    if (kind == Kind::kJoin) actor.call = h_.Join(actor.process, {}, timeout);
    if (kind == Kind::kRejoin) actor.call = h_.Rejoin(actor.process, timeout);
    if (kind == Kind::kBarrier) {
      const uint64_t sequence = actor.process.next[""];
      epochs_.at(actor.process.epoch.nonce)
          .called[sequence]
          .insert(actor.process.identity.incarnation);
      actor.call = h_.Barrier(actor.process, "", timeout);
      actor.process.next[""] = sequence;
    }
    Absorb();
  }

  void Cut(Actor& actor) {
    if (!actor.connected) return;
    Say(absl::StrCat(Name(actor), " is cut off"));
    actor.connected = false;
    actor.call = 0;
    h_.CloseStream(actor.process);
    Absorb();
  }

  void Kill(Actor& actor) {
    if (actor.dead) return;
    Say(absl::StrCat(Name(actor), " dies"));
    actor.dead = true;
    Cut(actor);
    if (Pick(2) == 0) h_.ReportExit(actor.process, true, 9);
    Absorb();
  }

  void Restart() {
    Say("the daemon is killed and restarted");
    h_.Restart();
    for (Actor& actor : actors_) {
      actor.connected = false;
      actor.call = 0;
    }
  }

  void Pass() {
    const absl::Duration time = absl::Milliseconds(1 + Pick(Pick(8) == 0 ? 90'000 : 4000));
    Say(absl::StrCat("pass ", absl::FormatDuration(time)));
    h_.Advance(time);
    Absorb();
  }

  // Takes the events and answers that have arrived.
  void Absorb() {
    for (Actor& actor : actors_) {
      if (actor.dead || !actor.connected) continue;
      const auto events = h_.Events<EpochBroken>(actor.process.stream);
      for (; actor.told < events.size(); ++actor.told) {
        if (events[actor.told].epoch == actor.process.epoch) actor.broken = events[actor.told];
      }
      if (const auto end = h_.EndOf(actor.process.stream)) {
        Say(absl::StrCat(Name(actor), ": its stream ends: ", end->ToString()));
        actor.connected = false;
        actor.call = 0;
        actor.dead = true;  // these schedules never replace it by its own session
        continue;
      }
      if (actor.call == 0 || h_.Parked(actor.call)) continue;
      const WaiterId call = std::exchange(actor.call, 0);
      Say(absl::StrCat("  ", Name(actor), ": ", h_.StatusOf(call).ToString()));
      if (!h_.StatusOf(call).ok()) continue;
      if (Pick(12) == 0) {
        Say("  the answer is lost");
        Cut(actor);
        return Absorb();
      }
      actor.kind == Kind::kBarrier ? CheckBarrier(actor) : CheckPlace(actor, call);
    }
  }

  void CheckBarrier(Actor& actor) {
    Process& p = actor.process;
    const Formed& formed = epochs_.at(p.epoch.nonce);
    for (const RosterEntry& entry : *formed.roster) {
      EXPECT_EQ(formed.called.at(p.next[""]).count(entry.member.incarnation), 1u)
          << "barrier " << p.next[""] << " of epoch " << p.epoch.number << " without pid "
          << entry.member.pid;
    }
    ++p.next[""];
  }

  void CheckPlace(Actor& actor, WaiterId call) {
    Process& p = actor.process;
    const uint64_t before = p.epoch.number;
    h_.TakePlace(p, call);
    actor.broken.reset();
    actor.told = 0;  // the end of this epoch may have been sent before
    EXPECT_GT(p.epoch.number, before);
    actor.highest_epoch = p.epoch.number;
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
  std::deque<Actor> actors_;
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
