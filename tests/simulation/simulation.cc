#include "tests/simulation/simulation.h"

#include "absl/time/time.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {
namespace {

// More than the calls of a job can take together, once the network is fair.
constexpr absl::Duration kLongestJob = absl::Hours(2);
// Enough for every message that is in flight when the last process ends.
constexpr absl::Duration kAftermath = absl::Minutes(2);
// Ends a schedule in which time stands still.
constexpr uint64_t kMaxSteps = 2'000'000;

bool MayGoOn(const SimulationState& simulation) {
  return simulation.violations().empty() && simulation.clock.steps() < kMaxSteps;
}

void RunUntilOver(SimulationState* simulation, const Cluster& cluster) {
  while (MayGoOn(*simulation) && !cluster.Over() && simulation->now() < kLongestJob) {
    if (!simulation->clock.Step()) break;
  }
  if (simulation->violations().empty() && !cluster.Over()) {
    simulation->Violation("the job hangs: ", cluster.Unfinished());
  }
}

void RunAftermath(SimulationState* simulation) {
  const absl::Duration end = simulation->now() + kAftermath;
  while (MayGoOn(*simulation) && simulation->now() < end) {
    if (!simulation->clock.Step()) break;
  }
}

}  // namespace

Result Simulate(const Options& options) {
  Setting setting = DrawSetting(options.seed);
  setting.node_fanin = options.node_fanin.value_or(setting.node_fanin);
  setting.node_commits = options.node_commits.value_or(setting.node_commits);
  SimulationState simulation(options.verbose);
  simulation.Trace("seed ", options.seed, ": ", setting.Describe());
  Cluster cluster(&setting, &simulation);
  cluster.Start();
  const std::vector<Fault> faults = DrawFaults(setting);
  Arrange(faults, options.without_faults, &simulation, &cluster);
  simulation.clock.At(setting.faults_until, [&cluster] { cluster.EndFaults(); });
  RunUntilOver(&simulation, cluster);
  if (simulation.violations().empty()) {
    RunAftermath(&simulation);
    cluster.CheckEnd();
  }
  const Checks& checks = cluster.checks();
  return {simulation.violations(),
          faults.size(),
          simulation.clock.steps(),
          checks.results.results(),
          checks.results.epochs(),
          checks.node_calls,
          checks.commits};
}

Options Shrink(Options options) {
  const size_t faults = Simulate(options).faults;
  for (size_t i = 0; i < faults; ++i) {
    Options smaller = options;
    if (smaller.without_faults.insert(i).second && !Simulate(smaller).violations.empty()) {
      options = smaller;
    }
  }
  return options;
}

}  // namespace muster::simulation
