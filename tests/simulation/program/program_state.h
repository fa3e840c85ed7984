#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_STATE_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_STATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/simulation/program/schedule_checks.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulated_store_client.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The long time-out of a program's calls. Programs sometimes use short time-outs, so that they must
// retry. If a call runs into this long one, the daemon or the SDK has forgotten it.
inline constexpr absl::Duration kLongTimeout = absl::Minutes(10);

// The state that the tasks of one process's program share. All pointers must outlive it.
struct ProgramState {
  Process* process;
  const Setting* setting;
  SimulationState* simulation;
  Checks* checks;
  const bool* faults_are_over;
  Random random;
  // Makes the process's client of the store. Null if programs do not use it.
  std::function<StoreClient*(uint32_t rank)> open_store;
  uint32_t place = 0;
  bool earlier_run = false;  // the job was started again without this process
  bool exited = false;

  bool hostile() const { return setting->hostile && place == 0; }

  bool gone() const { return exited || !process->alive(); }

  // Notes a result that must not depend on when messages arrive: see CallResults.
  void NoteResult(uint64_t epoch_nonce, const std::string& call, const absl::Status& status,
                  const std::vector<std::string>& payloads = {}) const {
    checks->results.Note(place, epoch_nonce, call, status, payloads);
  }

  // Runs `what` after a random time of computing, unless the process has ended by then.
  void Later(std::function<void()> what);
  // Runs `what` after `delay`, or at the end of a pause, unless the process has ended by then.
  void After(absl::Duration delay, std::function<void()> what);

  // Draws a call's time-out. It is short only while there are faults and only for the first few
  // tries; `tries` counts them.
  absl::Duration DrawTimeout(int tries);
  // Sometimes cancels the call after a while.
  void MayCancel(internal::CallId call);

  // Checks that the error of a failed call names a rank, a process or the coordinator.
  void CheckError(const std::string& call, const absl::Status& status);
  // Checks that ALREADY_EXISTS names this process and the process that has its place.
  void CheckTaken(const std::string& call, const absl::Status& status);
  // Checks that the error blames no process that was never disturbed.
  void CheckBlame(const std::string& call, const absl::Status& status);
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_STATE_H_
