#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/actor.h"
#include "tests/simulation/lease_track.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/track.h"

namespace muster::simulation {

// What one process runs: joins, does the plan of the epoch, and leaves; in an elastic job, when its
// epoch ends early, it rejoins and does the plan of the next one.
class Program {
 public:
  // How it ended; nullopt while it runs. OK: it has left.
  using Outcome = std::optional<absl::Status>;

  // `on_exit` is told once that the process ends by itself.
  Program(const Actor& actor, std::function<void()> on_exit);

  void Start();

  // The program decides by itself to form a new epoch, or to ask all ranks to stop; ignored where
  // it is not in an epoch.
  void RejoinUnasked();
  void RequestStop();

  // The process was killed.
  void Killed() { actor_.exited = true; }
  // The job is started again without this process.
  void BelongToEarlierRun() { actor_.earlier_run = true; }
  bool of_earlier_run() const { return actor_.earlier_run; }
  bool in_epoch() const { return place_.has_value(); }
  const Outcome& outcome() const { return outcome_; }
  Process& process() { return *actor_.process; }
  const Process& process() const { return *actor_.process; }

 private:
  void Join();
  void Joined(absl::StatusOr<internal::Response> reply);
  void Enter();
  void TrackEnded(const absl::Status& status);
  void WelcomeNewcomers();
  void MoveOn();
  void EpochDone();
  void Rejoin();
  void Rejoined(absl::StatusOr<internal::Response> reply);
  void Leave();
  void Left(const absl::Status& status);
  void Exit(const absl::Status& outcome);

  JobOptions Wish() const;

  Actor actor_;
  absl::Duration started_;
  const std::function<void()> on_exit_;
  Outcome outcome_;

  std::optional<Place> place_;
  EpochPlan plan_;
  std::vector<std::unique_ptr<Track>> tracks_;
  size_t open_tracks_ = 0;
  absl::Status epoch_over_;
  bool moving_on_ = false;
  std::optional<UnpublishedWork> unpublished_;

  bool rejoining_ = false;
  int rejoins_ = 0;
  std::optional<Place> next_place_;  // where Rejoin was answered before all tracks have ended
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_H_
