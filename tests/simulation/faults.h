#ifndef MUSTER_TESTS_SIMULATION_FAULTS_H_
#define MUSTER_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

// One thing that happens to the job beyond bad weather.
struct Fault {
  enum Kind {
    kCut,            // a connection ends
    kPauseDaemon,    // for less than any grace
    kRestartDaemon,  // in the same place, with nothing
    kKill,           // a process, or its host
    kKillAtNode,     // a process, while it is at what its node shares
    kPause,          // a process, for longer than the grace perhaps
    kCutOff,         // a process, for a while
    kSplit,          // a second daemon
    kStop,           // a program asks all to stop
    kRejoin,         // a program forms a new epoch unasked
    kReplace,        // a newer process is started for a place
    kChurn,          // processes come and go
    kNewRun,         // the job is started again
    kStranger,       // somebody who is no member tries something
  };

  Kind kind = kCut;
  absl::Duration at;
  // Not at that time, but just after the next answer; or to the process that a restarted daemon
  // asks for the roster next.
  bool after_answer = false;
  bool to_asked = false;
  uint32_t place = 0;
  absl::Duration length;
  uint64_t choice = 0;  // of variants
};

// The faults of a schedule, in no order.
std::vector<Fault> DrawFaults(const Setting& setting);

// Lets them happen when they are due, but for these.
void Arrange(const std::vector<Fault>& faults, const std::set<size_t>& without, Stage* stage,
             Cluster* cluster);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_FAULTS_H_
