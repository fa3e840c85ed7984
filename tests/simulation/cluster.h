#ifndef MUSTER_TESTS_SIMULATION_CLUSTER_H_
#define MUSTER_TESTS_SIMULATION_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/program.h"
#include "tests/simulation/schedule_checks.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/simulated_daemon.h"
#include "tests/simulation/simulated_network.h"
#include "tests/simulation/simulated_node_memory.h"
#include "tests/simulation/simulated_process.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

// The machines of one job: its daemon (or two), and one process at each place, which a launcher
// starts again in an elastic job.
class Cluster {
 public:
  // Both must outlive this.
  Cluster(const Setting* setting, Stage* stage);

  // Daemon and processes start, in any order.
  void Start();

  // ---- Faults ----
  // `silent`: its host dies, and nobody is told but by keepalive pings.
  void KillProcess(uint32_t place, bool silent, bool reported);
  // The process dies while it is at what its node shares: after so many steps there.
  void KillProcessAtNode(uint32_t place, int steps, bool reported);
  void PauseProcess(uint32_t place, absl::Duration length);
  void CutProcess(uint32_t place);
  void CutOffProcess(uint32_t place, absl::Duration length);
  void KillDaemon(bool silent, absl::Duration downtime);
  void PauseDaemon(absl::Duration length);
  // A second daemon serves the processes of these places, until the first one dies.
  void SplitDaemon(uint64_t places, absl::Duration length);
  void RequestStop(uint32_t place);
  void RejoinUnasked(uint32_t place);
  // Somebody who is no member sends the daemon something; `choice` decides what.
  void SendAsStranger(uint64_t choice);
  // A newer process is started at a place. The older one goes on, or is cut off, or has just died.
  enum class Older { kGoesOn, kIsCutOff, kDies };
  void ReplaceProcess(uint32_t place, Older older, absl::Duration length);
  // Processes come and go again before the daemon settles.
  void Churn(absl::Duration length);
  // The job is started again: another daemon, another process at each place. Of the old ones at
  // most half, of these places, have not ended; the old daemon may stay for them for a while.
  void StartAgain(uint64_t places, bool old_daemon_stays, absl::Duration length);
  // From now on the network is fair.
  void EndFaults();

  Network& network() { return network_; }
  // Where the process was started.
  uint32_t PlaceOf(ProcessId process) const { return started_at_.at(process); }

  // ---- The end ----
  // No process runs or will be started.
  bool Over() const;
  // Checks what must hold once all is over.
  void CheckEnd();
  // Who still runs, and what it waits for.
  std::string Unfinished() const;

 private:
  struct Place {
    int starts = 0;
    Program* program = nullptr;  // the latest
  };

  void StartDaemon();
  Program* NewProgram(uint32_t place);
  void End(Program* program, bool silent);
  void LaunchAll();
  void RouteAll();
  void Launch(uint32_t place);
  void LaunchAgain(uint32_t place);
  void ReportStarted(const Process& process);
  void ReportExit(const Process& process);
  internal::MemberOptions OptionsOf(ProcessId id, uint32_t place);
  core::Options DaemonOptions();
  Daemon* current() { return daemons_.empty() ? nullptr : daemons_.rbegin()->second.get(); }
  // The program at this place, if its process runs.
  Program* Running(uint32_t place);

  const Setting* const setting_;
  Stage* const stage_;
  Checks checks_;
  Network network_;
  NodeMemories memories_;
  Random random_;
  bool faults_are_over_ = false;
  std::map<DaemonId, std::unique_ptr<Daemon>> daemons_;  // the latest last; all that ever were
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Place> places_;
  std::map<ProcessId, uint32_t> started_at_;
  int launches_pending_ = 0;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_CLUSTER_H_
