#ifndef MUSTER_SERVER_CORE_JOB_LIFECYCLE_H_
#define MUSTER_SERVER_CORE_JOB_LIFECYCLE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/core/api/basic_types.h"
#include "server/core/api/job_status.h"
#include "server/core/job/epoch.h"
#include "server/core/job/job_context.h"
#include "server/core/job/member_table.h"

namespace muster::core {

// The job's state and the reason for it, its current epoch, and the numbers that outlive epochs.
//
//   kForming ──Enter──► kRunning ──Break──► kReforming (elastic) ──Enter──► kRunning
//                          │  └────Break──► kFailed (not elastic)
//                          └────Finish────► kFinished
//
// Fail() leads to kFailed from any state, and StartAnew() back to kForming. A recovery does not
// change the state. While it lasts, the job is reported as recovering, calls are deferred and no
// epoch forms.
class Lifecycle {
 public:
  explicit Lifecycle(JobContext& job) : job_(job) {}

  // Returns the state without regard to a recovery, and the state in which the job is reported.
  JobState state() const { return state_; }
  JobState ReportedState() const { return recovering_ ? JobState::kRecovering : state_; }
  const std::string& reason() const { return reason_; }  // for the state
  bool recovering() const { return recovering_; }
  // Returns whether an epoch may form.
  bool forming() const;
  // Returns OK if every member has left, an error that names the loss if the job has failed, or
  // nullopt while it goes on.
  std::optional<absl::Status> Outcome() const;

  // Returns the current epoch, which may be broken, or null before the first.
  Epoch* epoch() const { return epoch_.get(); }
  // Returns FAILED_PRECONDITION if the member has no rank, or ABORTED if its call names another
  // epoch or the epoch is broken.
  absl::Status CheckEpoch(const Member& member, const EpochId& epoch) const;

  // Makes this the current epoch, in which the job runs. Returns the previous epoch, or null.
  std::unique_ptr<Epoch> Enter(std::unique_ptr<Epoch> epoch);
  // Breaks the epoch. An elastic job re-forms; any other job has failed.
  void Break(const std::string& reason);
  void Finish(const std::string& reason);
  void Fail(const std::string& reason);
  // Returns the current epoch, and leaves none. Forgets the history that its members were told.
  std::unique_ptr<Epoch> DropEpoch();
  // Forgets everything of another run, so that the job forms for the first time.
  void StartAnew();

  void BeginRecovery() { recovering_ = true; }
  void EndRecovery() { recovering_ = false; }

  // Tells all ranks of the stop, in this and every later epoch.
  void AskStop();
  bool stop_asked() const { return stop_asked_; }

  // Logs, at the end of an epoch, which ranks the others have waited for.
  void LogStragglers();

  // Returns the number of the next epoch, which is higher than all numbers that were given out or
  // observed.
  uint64_t NextEpochNumber();
  void ObserveEpochNumber(uint64_t number);
  uint64_t highest_epoch() const { return highest_epoch_; }

  const JobHistory& history() const { return history_; }
  // Notes that an epoch of this size forms, in which so many members replace others.
  void NoteFormation(uint32_t replacements, uint32_t size);
  // Adopts the history that a member of the current epoch was told. All members were told the same.
  void AdoptHistory(const JobHistory& claimed);
  // Returns the latest losses of members, the latest first.
  const std::deque<Failure>& failures() const { return failures_; }
  void NoteFailure(Failure failure);
  // Restores these from a checkpoint.
  void Restore(uint64_t highest_epoch, const JobHistory& history);

 private:
  JobContext& job_;
  JobState state_ = JobState::kForming;
  std::string reason_;
  std::unique_ptr<Epoch> epoch_;
  bool recovering_ = false;
  bool stop_asked_ = false;
  uint64_t highest_epoch_ = 0;
  JobHistory history_;
  std::deque<Failure> failures_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_JOB_LIFECYCLE_H_
