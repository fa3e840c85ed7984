#ifndef MUSTER_TESTS_SIMULATION_ACTOR_H_
#define MUSTER_TESTS_SIMULATION_ACTOR_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/simulation/random.h"
#include "tests/simulation/schedule_checks.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/simulated_process.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

// A program's time-outs are short sometimes, so that it must call again, and else so long that one
// which passes means that a call was forgotten.
inline constexpr absl::Duration kLongTimeout = absl::Minutes(10);

// What the parts of one process's program share. All must outlive it.
struct Actor {
  Process* process;
  const Setting* setting;
  Stage* stage;
  Checks* checks;
  const bool* faults_are_over;
  Random random;
  uint32_t place = 0;
  bool earlier_run = false;  // the job was started again without it
  bool exited = false;

  bool hostile() const { return setting->hostile && place == 0; }

  bool gone() const { return exited || !process->alive(); }

  // Does this when the program has computed for a while, if its process is still there.
  void Later(std::function<void()> what);
  // The same at a given distance.
  void After(absl::Duration delay, std::function<void()> what);

  // Short only while there are faults, and only a few times in a row: `tries` counts them.
  absl::Duration DrawTimeout(int tries);
  // Gives the call up after a while, sometimes.
  void MayCancel(internal::CallId call);

  // The error of a call, if there is one, must say who is to blame.
  void CheckError(const std::string& call, const absl::Status& status);
  // Who has the place instead must be named beside this process.
  void CheckTaken(const std::string& call, const absl::Status& status);
  // Who is said to have been lost must not be fine.
  void CheckBlame(const std::string& call, const absl::Status& status);
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_ACTOR_H_
