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
  struct Participant {
    Process process;
    JoinRequest request;
    bool dead = false;
    bool connected = false;
    bool disturbed = false;  // something has happened for which it may be lost
    WaiterId call = 0;       // the Join or Rejoin in flight
    bool rejoins = false;
    Time called;
    absl::Duration timeout;
    size_t events_seen = 0;  // the number of events seen on this stream
    bool broken = false;     // its epoch
  };

  // ---- random_joining.cc: what happens ----
  static Options DrawOptions(uint64_t seed);
  uint32_t Pick(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool OneIn(uint32_t n) { return Pick(n) == 0; }
  void Trace(const std::string& text);
  bool elastic() const { return options_.min_world_size != 0; }
  uint32_t places() const;
  void Step();
  // Starts a process for a place. Another process may have the place already.
  Participant& Start();
  JoinRequest DrawRequest(uint32_t place);
  void Continue(Participant& participant);
  void Attach(Participant& participant);
  void Join(Participant& participant);
  void Rejoin(Participant& participant);
  void Cut(Participant& participant);
  void NoteGivenUp(const Participant& participant);
  void Kill(Participant& participant);
  void Cancel(Participant& participant);
  void Pass(absl::Duration time);
  // Lets newcomers come and go, for longer than the time that survivors have to rejoin.
  void Churn();

  // ---- random_joining_checks.cc: what must hold ----
  // Takes the events and answers that have arrived.
  void Absorb();
  void AbsorbEvents(Participant& participant);
  void TakeAnswer(Participant& participant, const Reply& reply);
  void CheckPlace(Participant& participant, const JoinAnswer& answer);
  void CheckFormed(const Roster& roster);
  void CheckFirstEpoch(const Roster& roster);
  void CheckRanksAskedFor(const Roster& roster);
  void CheckNodes(const Roster& roster);
  void CheckLaterEpoch(const Roster& roster);
  void CheckRefusal(const Participant& participant, const absl::Status& status);
  void CheckRequest(const Participant& participant, const std::string& text);
  static void CheckRange(const JoinRequest& request, const std::string& text);
  void CheckInDoubt(const Participant& participant, const std::string& text);
  void CheckTaken(const Participant& participant, const std::string& text);
  void CheckLost(const Participant& participant, const std::string& text);
  void CheckState(const std::string& text);
  // Checks the whole job after every step: no process waits for a place or an epoch that is
  // available.
  void CheckProgress();
  void CheckConflicts();
  void CheckReforming();
  void CheckGivenUp();
  bool Waits(const Participant& participant) const;
  static bool SamePlace(const Participant& a, const Participant& b);
  const Participant& ParticipantOf(const MemberIdentity& identity) const;
  // Returns the other process that the text names.
  const Participant* OtherNamed(const Participant& participant, const std::string& text) const;

  const Options options_;
  std::mt19937_64 random_;
  const bool verbose_;
  Harness h_;
  Style style_;
  uint32_t nodes_;
  uint32_t size_;  // the world size that the processes assume
  std::deque<Participant> participants_;
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
