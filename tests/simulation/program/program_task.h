#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_TASK_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_TASK_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "client/src/protocol/messages/epoch_id.h"
#include "tests/simulation/program/program_state.h"

namespace muster::simulation {

// The place of a process in an epoch.
struct Place {
  internal::EpochId epoch;
  int rank = 0;
  int world_size = 0;
};

// One of the concurrent tasks of a program in one epoch. It makes its calls one after another until
// it has made all, or the epoch is over.
class ProgramTask {
 public:
  // Called with OK at the end, or with the error that ended the epoch for this process.
  using OnEnd = std::function<void(const absl::Status&)>;
  ProgramTask(ProgramState* program_state, const Place& place, OnEnd on_end)
      : program_state_(program_state), place_(place), on_end_(std::move(on_end)) {}
  virtual ~ProgramTask() = default;

  virtual void Start() = 0;

 protected:
  void End(const absl::Status& status) { on_end_(status); }

  // Returns whether the error ends the epoch. Any call may fail with such an error. If false, the
  // program must check the error itself.
  bool EndsEpoch(const absl::Status& status) const {
    return absl::IsAborted(status) || absl::IsUnavailable(status);
  }
  // Returns whether the program may retry a call: it timed out or was cancelled. Reports a
  // violation if the long time-out has passed, since then the call was forgotten.
  bool MayRepeat(const std::string& call, absl::Duration timeout, const absl::Status& status) {
    if (absl::IsDeadlineExceeded(status) && timeout == kLongTimeout && !program_state_->hostile()) {
      if (program_state_->setting->hostile)
        return false;  // who has been refused does not come again
      program_state_->simulation->Violation("process ", program_state_->process->id(), ": ", call,
                                            " has waited in vain: ", status.ToString());
      return false;
    }
    return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
  }
  void Unexpected(const std::string& call, const absl::Status& status) {
    if (program_state_->hostile()) return;
    if (program_state_->setting->hostile && absl::IsDeadlineExceeded(status)) return;
    program_state_->simulation->Violation("process ", program_state_->process->id(), ": ", call,
                                          " must not end like this: ", status.ToString());
  }

  ProgramState* const program_state_;
  const Place place_;

 private:
  const OnEnd on_end_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_TASK_H_
