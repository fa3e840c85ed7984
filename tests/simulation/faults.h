#ifndef MUSTER_TESTS_SIMULATION_FAULTS_H_
#define MUSTER_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// One event of a schedule beyond the unreliable network.
struct Fault {
  enum Kind {
    kCut,            // a connection ends
    kPauseDaemon,    // for less than any grace
    kRestartDaemon,  // at the same address, without state
    kKill,           // a process, or its host
    kKillAtNode,     // a process, in the middle of a node fan-in
    kPause,          // a process, perhaps for longer than the grace
    kCutOff,         // a process, for a while
    kSplit,          // a second daemon
    kStop,           // a program asks all ranks to stop
    kRejoin,         // a program forms a new epoch on its own initiative
    kReplace,        // a newer process is started for a place
    kChurn,          // processes come and go
    kNewRun,         // the job is started again
    kStranger,       // a process that is no member sends something
    kLyingLauncher,  // it reports processes that do not exist
  };

  Kind kind = kCut;
  absl::Duration at;
  // `after_answer`: not at time `at`, but just after the next answer. `on_roster_request`: strikes
  // the process that a restarted daemon next asks for the roster.
  bool after_answer = false;
  bool on_roster_request = false;
  uint32_t place = 0;
  absl::Duration length;
  uint64_t choice = 0;  // selects a variant of the fault
};

// Draws the faults of a schedule. They are in no order.
std::vector<Fault> DrawFaults(const Setting& setting);

// Arranges for each fault to happen when it is due, except the faults whose indices are in
// `without`.
void Arrange(const std::vector<Fault>& faults, const std::set<size_t>& without,
             SimulationState* simulation, Cluster* cluster);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_FAULTS_H_
