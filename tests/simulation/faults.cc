#include "tests/simulation/faults.h"

namespace muster::simulation {
namespace {

std::vector<Fault::Kind> KindsOf(const Setting& setting) {
  std::vector<Fault::Kind> kinds = {Fault::kCut, Fault::kPauseDaemon, Fault::kStranger};
  if (setting.restarts) kinds.insert(kinds.end(), 3, Fault::kRestartDaemon);
  if (setting.losses) {
    kinds.insert(kinds.end(), {Fault::kKill, Fault::kKill, Fault::kPause, Fault::kCutOff});
  }
  if (setting.losses && setting.node_fanin) kinds.insert(kinds.end(), 2, Fault::kKillAtNode);
  if (setting.split) kinds.push_back(Fault::kSplit);
  if (setting.elastic) kinds.push_back(Fault::kRejoin);
  if (setting.replacements) kinds.insert(kinds.end(), 2, Fault::kReplace);
  return kinds;
}

absl::Duration DrawLength(Fault::Kind kind, Random& random) {
  switch (kind) {
    case Fault::kPauseDaemon:
      return random.Between(absl::Milliseconds(1), absl::Milliseconds(500));
    case Fault::kRestartDaemon:
      return random.Between(absl::ZeroDuration(), absl::Seconds(5));
    default:
      return random.Between(absl::Milliseconds(100), absl::Seconds(20));
  }
}

Fault DrawFault(Fault::Kind kind, const Setting& setting, Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.at = random.Between(absl::ZeroDuration(), setting.faults_until);
  fault.after_answer = random.Chance(0.6);
  if (kind == Fault::kReplace && random.Chance(0.7)) {  // while the job forms
    fault.at = random.Between(absl::Milliseconds(500), absl::Seconds(4));
    fault.after_answer = false;
  }
  fault.place = random.Pick(setting.size);
  fault.length = DrawLength(kind, random);
  fault.choice = random.Next();
  return fault;
}

// Draws a fault for the process that a restarted daemon asks for the roster. It strikes while the
// daemon waits for the answer.
Fault DrawFaultOfAskedProcess(const Setting& setting, Random& random) {
  constexpr Fault::Kind kKinds[] = {Fault::kCut, Fault::kPause, Fault::kKill, Fault::kCutOff};
  Fault fault = DrawFault(kKinds[random.Pick(setting.losses ? 4 : 1)], setting, random);
  fault.at = absl::ZeroDuration();
  fault.on_roster_request = true;
  return fault;
}

// Draws reports about processes that do not exist: mostly while the job forms, and sometimes before
// any launcher has reported a process that does.
Fault DrawLies(const Setting& setting, Random& random) {
  Fault fault = DrawFault(Fault::kLyingLauncher, setting, random);
  if (random.Chance(0.8)) {
    fault.at = random.Between(absl::ZeroDuration(), absl::Seconds(3));
    fault.after_answer = false;
  }
  return fault;
}

// Makes the fault happen now.
void Apply(const Fault& fault, Cluster* cluster) {
  const bool one_of_four = fault.choice % 4 == 0;
  switch (fault.kind) {
    case Fault::kCut:
      return cluster->CutProcess(fault.place);
    case Fault::kPauseDaemon:
      return cluster->PauseDaemon(fault.length);
    case Fault::kRestartDaemon:
      return cluster->KillDaemon(/*silent=*/one_of_four, fault.length);
    case Fault::kKill:
      return cluster->KillProcess(fault.place, /*silent=*/one_of_four,
                                  /*reported=*/fault.choice / 4 % 2 == 0);
    case Fault::kKillAtNode:
      return cluster->KillProcessAtNode(fault.place, 1 + static_cast<int>(fault.choice / 8 % 60),
                                        /*reported=*/fault.choice / 4 % 2 == 0);
    case Fault::kPause:
      return cluster->PauseProcess(fault.place, fault.length);
    case Fault::kCutOff:
      return cluster->CutOffProcess(fault.place, fault.length);
    case Fault::kSplit:
      return cluster->SplitDaemon(fault.choice, fault.length);
    case Fault::kStop:
      return cluster->RequestStop(fault.place);
    case Fault::kRejoin:
      return cluster->RejoinUnasked(fault.place);
    case Fault::kReplace:
      return cluster->ReplaceProcess(fault.place, static_cast<Cluster::Older>(fault.choice % 3),
                                     fault.length);
    case Fault::kChurn:
      return cluster->Churn(absl::Minutes(3));
    case Fault::kStranger:
      return cluster->SendAsStranger(fault.choice);
    case Fault::kLyingLauncher:
      return cluster->SendAsLyingLauncher(fault.choice);
    case Fault::kNewRun:
      return cluster->StartAgain(fault.choice, /*old_daemon_stays=*/one_of_four, fault.length);
  }
}

}  // namespace

std::vector<Fault> DrawFaults(const Setting& setting) {
  Random random(setting.seed, "faults");
  const std::vector<Fault::Kind> kinds = KindsOf(setting);
  std::vector<Fault> faults;
  for (int i = 0; setting.replacements && i < 2; ++i) {
    faults.push_back(DrawFault(Fault::kReplace, setting, random));
  }
  if (setting.churn) faults.push_back(DrawFault(Fault::kChurn, setting, random));
  if (setting.leftovers) faults.push_back(DrawFault(Fault::kNewRun, setting, random));
  if (setting.split) faults.push_back(DrawFault(Fault::kSplit, setting, random));
  for (uint32_t i = 0; i < setting.faults; ++i) {
    faults.push_back(DrawFault(kinds[random.Pick(kinds.size())], setting, random));
  }
  if (setting.stops) faults.push_back(DrawFault(Fault::kStop, setting, random));
  if (setting.restarts && random.Chance(0.3)) {
    faults.push_back(DrawFaultOfAskedProcess(setting, random));
  }
  Random lies(setting.seed, "lies");
  for (int i = 0; setting.lying_launcher && i < 4; ++i) faults.push_back(DrawLies(setting, lies));
  return faults;
}

void Arrange(const std::vector<Fault>& faults, const std::set<size_t>& without,
             SimulationState* simulation, Cluster* cluster) {
  for (size_t i = 0; i < faults.size(); ++i) {
    if (without.count(i) > 0) continue;
    const auto happen = [=, fault = faults[i]] {
      simulation->Trace("fault ", i);
      Apply(fault, cluster);
    };
    if (faults[i].on_roster_request) {
      cluster->network().OnNextRosterRequest([=, fault = faults[i]](ProcessId asked) mutable {
        simulation->Trace("fault ", i, ", to process ", asked);
        fault.place = cluster->PlaceOf(asked);
        Apply(fault, cluster);
      });
      continue;
    }
    const bool after_answer = faults[i].after_answer;
    simulation->clock.At(
        faults[i].at, [=] { after_answer ? cluster->network().OnNextAnswer(happen) : happen(); });
  }
}

}  // namespace muster::simulation
