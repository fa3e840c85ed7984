#ifndef MUSTER_TESTS_SIMULATION_FAULTS_H_
#define MUSTER_TESTS_SIMULATION_FAULTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/setting.h"

namespace muster::simulation {

// One thing that happens to the job beyond bad weather.
struct Fault {
  enum Kind {
    kCut,            // a connection ends
    kPauseDaemon,    // for less than any grace
    kRestartDaemon,  // in the same place, with nothing
    kKill,           // a process, or its host
    kPause,          // a process, for longer than the grace perhaps
    kCutOff,         // a process, for a while
    kSplit,          // a second daemon
    kStop,           // a program asks all to stop
    kRejoin,         // a program forms a new epoch unasked
  };

  Kind kind = kCut;
  absl::Duration at;
  uint32_t place = 0;
  absl::Duration length;
  uint64_t choice = 0;  // of variants
};

// The faults of a schedule, in no order.
std::vector<Fault> DrawFaults(const Setting& setting);

// Lets it happen, now.
void Apply(const Fault& fault, Cluster* cluster);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_FAULTS_H_
