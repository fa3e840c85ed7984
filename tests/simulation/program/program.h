#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/program/lease_task.h"
#include "tests/simulation/program/plan.h"
#include "tests/simulation/program/program_state.h"
#include "tests/simulation/program/program_task.h"
#include "tests/simulation/program/store_program.h"

namespace muster::simulation {

// The program of one process. It joins, carries out the epoch's plan and leaves. In an elastic job,
// if its epoch ends early, it rejoins and carries out the plan of the next epoch.
class Program {
 public:
  // The result of the program: nullopt while it runs, OK if it has left.
  using Outcome = std::optional<absl::Status>;

  // `on_exit` is called once, when the process ends on its own.
  Program(const ProgramState& program_state, std::function<void()> on_exit);

  void Start();

  // Forms a new epoch, or asks all ranks to stop, on the program's own initiative. Ignored while
  // the program is in no epoch.
  void RejoinUnasked();
  void RequestStop();

  // Notes that the process was killed.
  void Killed() { program_state_.exited = true; }
  // Notes that the job was started again without this process.
  void BelongToEarlierRun() { program_state_.earlier_run = true; }
  bool of_earlier_run() const { return program_state_.earlier_run; }
  bool in_epoch() const { return place_.has_value(); }
  const Outcome& outcome() const { return outcome_; }
  Process& process() { return *program_state_.process; }
  const Process& process() const { return *program_state_.process; }

 private:
  void Join();
  void Joined(absl::StatusOr<internal::Response> reply);
  void Enter();
  void TaskEnded(const absl::Status& status);
  void WelcomeNewcomers();
  void MoveOn();
  void EpochDone();
  // Goes on with `next` when the program has ended its use of the store.
  void AfterStore(std::function<void()> next);
  void Rejoin();
  void Rejoined(absl::StatusOr<internal::Response> reply);
  void Leave();
  void Left(const absl::Status& status);
  void Exit(const absl::Status& outcome);

  JobOptions MakeOptions() const;

  ProgramState program_state_;
  absl::Duration started_;
  const std::function<void()> on_exit_;
  Outcome outcome_;

  std::optional<Place> place_;
  EpochPlan plan_;
  std::vector<std::unique_ptr<ProgramTask>> tasks_;
  size_t open_tasks_ = 0;
  absl::Status epoch_over_;
  bool moving_on_ = false;
  std::optional<UnpublishedWork> unpublished_;

  std::unique_ptr<StoreProgram> store_;
  std::function<void()> after_store_;  // waits for the end of `store_`

  bool rejoining_ = false;
  int rejoins_ = 0;
  std::optional<Place> next_place_;  // set if Rejoin was answered before all tasks have ended
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_PROGRAM_H_
