#ifndef MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_JOINING_H_
#define MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_JOINING_H_

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "tests/server/core/harness.h"

namespace muster::core {

// One random schedule of joining; see random_joining_test.cc.
class RandomJoining {
 public:
  RandomJoining(uint64_t seed, bool verbose);

  void Run();
  size_t epochs() const { return epochs_.size(); }

 private:
  // The kind of place that the processes ask for.
  enum class Style { kNothing, kRanks, kLocalRanks, kNodeRanks, kAnything };
  struct Actor {
    Process process;
    JoinRequest wish;
    bool dead = false;
    bool connected = false;
    bool disturbed = false;  // something has happened for which it may be lost
    WaiterId call = 0;       // the Join or Rejoin in flight
    bool rejoins = false;
    Time called;
    absl::Duration timeout;
    size_t told = 0;      // the number of events seen on this stream
    bool broken = false;  // its epoch
  };

  // ---- random_joining.cc: what happens ----
  static Options DrawOptions(uint64_t seed);
  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool OneIn(uint32_t n) { return Pick(n) == 0; }
  void Say(const std::string& text);
  bool elastic() const { return options_.min_world_size != 0; }
  uint32_t places() const;
  void Step();
  // Starts a process for a place. Another process may have the place already.
  Actor& Start();
  JoinRequest DrawWish(uint32_t place);
  void GoOn(Actor& actor);
  void Attach(Actor& actor);
  void Join(Actor& actor);
  void Rejoin(Actor& actor);
  void Cut(Actor& actor);
  void NoteGivenUp(const Actor& actor);
  void Kill(Actor& actor);
  void Cancel(Actor& actor);
  void Pass(absl::Duration time);
  // Lets newcomers come and go, for longer than the time that survivors have to rejoin.
  void Churn();

  // ---- random_joining_checks.cc: what must hold ----
  // Takes the events and answers that have arrived.
  void Absorb();
  void AbsorbEvents(Actor& actor);
  void TakeAnswer(Actor& actor, const Reply& reply);
  void CheckPlace(Actor& actor, const JoinAnswer& answer);
  void CheckFormed(const Roster& roster);
  void CheckFirstEpoch(const Roster& roster);
  void CheckRanksAskedFor(const Roster& roster);
  void CheckNodes(const Roster& roster);
  void CheckLaterEpoch(const Roster& roster);
  void CheckRefusal(const Actor& actor, const absl::Status& status);
  void CheckWish(const Actor& actor, const std::string& text);
  static void CheckRange(const JoinRequest& wish, const std::string& text);
  void CheckInDoubt(const Actor& actor, const std::string& text);
  void CheckTaken(const Actor& actor, const std::string& text);
  void CheckLost(const Actor& actor, const std::string& text);
  void CheckState(const std::string& text);
  // Checks the whole job after every step: no process waits for a place or an epoch that is
  // available.
  void CheckProgress();
  void CheckConflicts();
  void CheckReforming();
  void CheckGivenUp();
  bool Waits(const Actor& actor) const;
  static bool SamePlace(const Actor& a, const Actor& b);
  const Actor& ActorOf(const MemberIdentity& identity) const;
  // Returns the other process that the text names.
  const Actor* OtherNamed(const Actor& actor, const std::string& text) const;

  const Options options_;
  std::mt19937_64 random_;
  const bool verbose_;
  Harness h_;
  Style style_;
  uint32_t nodes_;
  uint32_t size_;  // the world size that the processes assume
  std::deque<Actor> actors_;
  std::map<uint64_t, std::shared_ptr<const Roster>> epochs_;  // by nonce
  uint64_t highest_epoch_ = 0;
  std::optional<Time> reforming_since_;
  size_t reforming_from_ = 0;  // the number of epochs at that time
  // The first time that a launcher gave up a place, and the first time that it did so while fewer
  // other processes than places were there.
  std::optional<Time> given_up_;
  std::optional<Time> missed_;
};

}  // namespace muster::core

#endif  // MUSTER_TESTS_SERVER_CORE_RANDOM_RANDOM_JOINING_H_
