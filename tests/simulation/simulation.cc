#include "tests/simulation/simulation.h"

#include "absl/time/time.h"
#include "tests/simulation/cluster.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {
namespace {

// More than the calls of a job can take together, once the network is fair.
constexpr absl::Duration kLongestJob = absl::Hours(2);
// Enough for every message that is in flight when the last process ends.
constexpr absl::Duration kAftermath = absl::Minutes(2);
// Ends a schedule in which time stands still.
constexpr uint64_t kMaxSteps = 2'000'000;

bool MayGoOn(const Stage& stage) {
  return stage.violations().empty() && stage.timeline.steps() < kMaxSteps;
}

void RunUntilOver(Stage* stage, const Cluster& cluster) {
  while (MayGoOn(*stage) && !cluster.Over() && stage->now() < kLongestJob) {
    if (!stage->timeline.Step()) break;
  }
  if (stage->violations().empty() && !cluster.Over()) {
    stage->Violation("the job hangs: ", cluster.Unfinished());
  }
}

void RunAftermath(Stage* stage) {
  const absl::Duration end = stage->now() + kAftermath;
  while (MayGoOn(*stage) && stage->now() < end) {
    if (!stage->timeline.Step()) break;
  }
}

}  // namespace

Result Simulate(const Options& options) {
  const Setting setting = DrawSetting(options.seed);
  Stage stage(options.verbose);
  stage.Say("seed ", options.seed, ": ", setting.Describe());
  Cluster cluster(&setting, &stage);
  cluster.Start();
  const std::vector<Fault> faults = DrawFaults(setting);
  Arrange(faults, options.without_faults, &stage, &cluster);
  stage.timeline.At(setting.faults_until, [&cluster] { cluster.EndFaults(); });
  RunUntilOver(&stage, cluster);
  if (stage.violations().empty()) {
    RunAftermath(&stage);
    cluster.CheckEnd();
  }
  return {stage.violations(), faults.size(), stage.timeline.steps()};
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
