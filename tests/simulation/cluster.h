#ifndef MUSTER_TESTS_SIMULATION_CLUSTER_H_
#define MUSTER_TESTS_SIMULATION_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/program/program.h"
#include "tests/simulation/program/schedule_checks.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_daemon.h"
#include "tests/simulation/world/simulated_network.h"
#include "tests/simulation/world/simulated_node_memory.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulated_store_client.h"
#include "tests/simulation/world/simulated_store_network.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The machines of one job: its daemon (two while a split lasts), and one process at each place. In
// an elastic job, a launcher restarts the process.
class Cluster {
 public:
  // Both must outlive this.
  Cluster(const Setting* setting, SimulationState* simulation);

  // Starts the daemon and the processes, in random order.
  void Start();

  // ---- Faults ----
  // Kills the process. `silent`: its host dies, so the daemon notices only by keepalive pings.
  // `reported`: the launcher reports the exit.
  void KillProcess(uint32_t place, bool silent, bool reported);
  // Kills the process in the middle of a node fan-in, after `steps` more accesses to shared memory.
  void KillProcessAtNode(uint32_t place, int steps, bool reported);
  // Stops the process for this long, as SIGSTOP does.
  void PauseProcess(uint32_t place, absl::Duration length);
  // Cuts the process's connection. It may reconnect at once.
  void CutProcess(uint32_t place);
  // Cuts the process's connection, and refuses new ones for this long.
  void CutOffProcess(uint32_t place, absl::Duration length);
  // Kills the daemon, and starts another one without state after `downtime`.
  void KillDaemon(bool silent, absl::Duration downtime);
  void PauseDaemon(absl::Duration length);
  // Starts a second daemon. The old one still serves the processes of `places` (a bit mask) for
  // `length`, and then dies.
  void SplitDaemon(uint64_t places, absl::Duration length);
  // Make a program ask all ranks to stop, or form a new epoch on its own initiative.
  void RequestStop(uint32_t place);
  void RejoinUnasked(uint32_t place);
  // Sends the daemon a message from a process that is no member. `choice` decides which message.
  void SendAsStranger(uint64_t choice);
  // Sends the daemon reports about processes that do not exist. `choice` decides which reports.
  void SendAsLyingLauncher(uint64_t choice);
  // Starts a newer process at a place. The older process goes on, is cut off, or has just died.
  enum class Older { kGoesOn, kIsCutOff, kDies };
  void ReplaceProcess(uint32_t place, Older older, absl::Duration length);
  // Starts and ends processes while the daemon forms an epoch.
  void Churn(absl::Duration length);
  // Starts the job again: another daemon, and another process at each place. Of the old processes,
  // those at `places` (a bit mask, at most half of them) have not ended. The old daemon may serve
  // them for a while.
  void StartAgain(uint64_t places, bool old_daemon_stays, absl::Duration length);
  // Ends all faults. From now on the network loses and delays nothing on purpose.
  void EndFaults();

  Network& network() { return network_; }
  const Checks& checks() const { return checks_; }
  // Returns the place at which the process was started.
  uint32_t PlaceOf(ProcessId process) const { return started_at_.at(process); }

  // ---- The end ----
  // Returns whether no process runs, and none will be started.
  bool Over() const;
  // Checks what must hold after all processes have ended.
  void CheckEnd();
  // Returns a text that says which processes still run, and what each waits for.
  std::string Unfinished() const;

 private:
  struct Place {
    int starts = 0;
    Program* program = nullptr;  // the latest
  };

  void StartDaemon();
  Program* NewProgram(uint32_t place);
  void End(Program* program, bool silent);
  absl::Duration LateStart() const;
  void LaunchAll();
  void RouteAll();
  void Launch(uint32_t place);
  void LaunchAgain(uint32_t place);
  void ReportStarted(const Process& process);
  void ReportExit(const Process& process);
  StoreClient* OpenStore(const Process* process, uint32_t rank);
  internal::MemberOptions OptionsOf(ProcessId id, uint32_t place);
  core::Options DaemonOptions();
  Daemon* current() { return daemons_.empty() ? nullptr : daemons_.rbegin()->second.get(); }
  // Returns the current daemon, or null if it is dead or stopped.
  Daemon* Listening();
  // Checks from time to time that the daemon knows no group that all members have forgotten.
  void WatchGroups();
  void CheckGroups();
  bool MayFail(const Program& program) const;
  // Returns the program at this place, or null if its process has ended.
  Program* Running(uint32_t place);

  const Setting* const setting_;
  SimulationState* const simulation_;
  Checks checks_;
  Network network_;
  StoreNetwork store_network_;
  NodeMemories memories_;
  Random random_;
  bool faults_are_over_ = false;
  std::map<DaemonId, std::unique_ptr<Daemon>> daemons_;  // all of them, latest last
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<StoreClient>> store_clients_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<Place> places_;
  std::map<ProcessId, uint32_t> started_at_;
  int launches_pending_ = 0;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_CLUSTER_H_
