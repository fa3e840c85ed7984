#ifndef MUSTER_TESTS_SIMULATION_WORLD_SETTING_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SETTING_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "tests/simulation/world/random.h"

namespace muster::simulation {

// How unreliable the network is while faults last.
struct NetworkConditions {
  double drop = 0;             // of a request or a reply; its caller learns of it later
  double duplicate = 0;        // of a request
  double slow = 0;             // of any message
  absl::Duration slowest;      // the longest delay of a slow message
  absl::Duration notice;       // the longest time until an end of a cut connection notices
  absl::Duration lost_notice;  // how long until the caller learns that a message was dropped
};

// The kind of one schedule, drawn from its seed.
struct Setting {
  uint64_t seed = 0;
  uint32_t size = 2;   // processes
  uint32_t nodes = 1;  // the nodes that the processes are spread over
  NetworkConditions conditions;
  uint32_t faults = 0;  // the number of events beyond the unreliable network
  absl::Duration faults_until;

  bool restarts = false;    // the daemon dies and restarts without state
  bool losses = false;      // processes die, stop or are cut off for longer than the grace
  bool split = false;       // two daemons serve the job at once
  bool elastic = false;     // the job goes on without lost members,
  uint32_t least_size = 1;  // while at least this many members are left
  bool mismatches = false;  // some rank makes another call than the others
  bool early_leave = false;
  bool stops = false;            // some rank asks for a stop
  bool clock_goes_back = false;  // a restarted daemon's wall clock is behind the old one's

  // The ranks that processes ask for: none, the rank of their place, or its local rank and node
  // rank.
  enum class RankRequests { kNothing, kRanks, kLocalRanks };
  RankRequests rank_requests = RankRequests::kNothing;
  bool replacements = false;     // processes are started at places that have one
  bool large_answers = false;    // the answer of some step exceeds the limit of a message
  bool overlong_labels = false;  // programs make a call that the daemon refuses, then a valid one
  bool churn = false;            // processes start and end while the job re-forms
  bool leftovers = false;        // the job is started again while old processes still run
  bool hostile = false;          // the process at the first place sends what no SDK would send
  bool many_leases = false;
  bool fewer_places = false;        // a restarted daemon has one place less
  bool node_fanin = false;          // processes of a node arrive at collectives together;
  bool node_commits = false;        // and may complete them there;
  bool apart = false;               // but the first one shares no memory with the others
  bool slow_starts = false;         // processes attach long after their launchers have started them
  bool passing_groups = false;      // programs release groups and create them again,
  bool endless_groups = false;      // or name another one at each step
  bool lying_launcher = false;      // a stranger reports processes that do not exist
  bool store = false;               // programs use the job's store
  uint32_t max_restarts_total = 0;  // of an elastic job; 0: any number

  // Returns whether the schedule has no event that may fail a call: every call succeeds in the end.
  // False for elastic jobs, in which a new epoch may form without some process.
  bool harmless() const {
    return !losses && !split && !elastic && !replacements && !leftovers && !hostile;
  }
  // Returns whether epochs and tokens grow over all daemons, because a restarted daemon hears of
  // the highest numbers given out, or its clock is beyond them. Otherwise they grow only per
  // daemon.
  bool numbers_are_known() const { return !split && !clock_goes_back && !hostile; }
  // Returns whether the results of all collectives follow from the seed, whenever messages arrive.
  // After a restart, a rank may find a group failed that another rank has still used.
  bool results_are_fixed() const {
    return harmless() && !early_leave && !lying_launcher &&
           !(restarts && (mismatches || large_answers));
  }
  std::string Describe() const;
};

Setting DrawSetting(uint64_t seed);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SETTING_H_
