#ifndef MUSTER_TESTS_SIMULATION_SETTING_H_
#define MUSTER_TESTS_SIMULATION_SETTING_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "tests/simulation/random.h"

namespace muster::simulation {

// How unreliable the network is while faults last.
struct Weather {
  double drop = 0;             // of a request, or a reply; its caller learns of it later
  double duplicate = 0;        // of a request
  double slow = 0;             // of any message
  absl::Duration slowest;      // what "slow" means at most
  absl::Duration notice;       // how long an end of a connection may not know that it is cut
  absl::Duration lost_notice;  // how long until the caller learns that a message was dropped
};

// What one schedule is about, drawn from its seed.
struct Setting {
  uint64_t seed = 0;
  uint32_t size = 2;   // processes
  uint32_t nodes = 1;  // that they are spread over
  Weather weather;
  uint32_t faults = 0;  // how many events beyond the weather
  absl::Duration faults_until;

  bool restarts = false;    // the daemon dies and comes back with nothing
  bool losses = false;      // processes die, stop or are cut off for longer than the grace
  bool split = false;       // two daemons serve the job at once
  bool elastic = false;     // the job goes on without those who are lost,
  uint32_t least_size = 1;  // as long as this many are left
  bool mismatches = false;  // some rank calls something else
  bool early_leave = false;
  bool stops = false;            // some rank asks for a stop
  bool clock_goes_back = false;  // a restarted daemon's wall clock is behind the old one's

  // What processes ask for: the rank, or the local rank and node rank, that go with their place.
  enum class Wishes { kNothing, kRanks, kLocalRanks };
  Wishes wishes = Wishes::kNothing;
  bool replacements = false;     // processes are started for places that have one
  bool large_answers = false;    // some step's answer is larger than a message may be
  bool overlong_labels = false;  // programs call what the daemon refuses, and then what it takes
  bool churn = false;            // processes come and go while the job re-forms
  bool leftovers = false;  // the job is started again, and not all of its processes have ended
  bool hostile = false;    // the process at the first place sends what no SDK would send
  bool many_leases = false;
  bool fewer_places = false;        // a restarted daemon has one place less
  bool node_fanin = false;          // processes of a node arrive at collectives together;
  bool apart = false;               // but the first one shares no memory with the others
  bool slow_starts = false;         // processes attach long after their launchers have started them
  bool passing_groups = false;      // programs let groups go, and make them again
  uint32_t max_restarts_total = 0;  // of an elastic job; 0: any number

  // Nothing happens that a job must not survive: every call succeeds in the end. Not of elastic
  // jobs: who forms a new epoch may leave somebody behind.
  bool harmless() const {
    return !losses && !split && !elastic && !replacements && !leftovers && !hostile;
  }
  // A daemon that takes over hears of the highest numbers that were given out, or its clock is
  // beyond them: epochs and tokens grow over all daemons. Else each daemon's do.
  bool numbers_are_known() const { return !split && !clock_goes_back && !hostile; }
  std::string Describe() const;
};

Setting DrawSetting(uint64_t seed);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_SETTING_H_
