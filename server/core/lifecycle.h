#ifndef MUSTER_SERVER_CORE_LIFECYCLE_H_
#define MUSTER_SERVER_CORE_LIFECYCLE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "server/core/epoch.h"
#include "server/core/job_context.h"
#include "server/core/job_status.h"
#include "server/core/member_table.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// The job's state and the reason for it, its current epoch, and the numbers that outlive epochs.
//
//   kForming ──Enter──► kRunning ──Break──► kReforming (elastic) ──Enter──► kRunning
//                          │  └────Break──► kFailed (not elastic)
//                          └────Finish────► kFinished
//
// Fail leads to kFailed from any state, and StartAnew back to kForming. A recovery lies over these
// states: while it lasts, the job is reported as recovering, calls are deferred and nothing forms.
class Lifecycle {
 public:
  explicit Lifecycle(JobContext& job) : job_(job) {}

  // The state below a recovery, and the state that the job is reported in.
  JobState state() const { return state_; }
  JobState ReportedState() const { return recovering_ ? JobState::kRecovering : state_; }
  const std::string& reason() const { return reason_; }  // for the state
  bool recovering() const { return recovering_; }
  // Whether an epoch may form.
  bool forming() const;
  // OK if every member has left, an error that names the loss if the job has failed; nullopt while
  // it goes on.
  std::optional<absl::Status> Outcome() const;

  // The current epoch, broken or not; null before the first.
  Epoch* epoch() const { return epoch_.get(); }
  // Returns FAILED_PRECONDITION if the member has no rank, ABORTED if its call names another epoch
  // than the current one, or if that is broken.
  absl::Status CheckEpoch(const Member& member, const EpochId& epoch) const;

  // Makes it the current epoch, in which the job runs. Returns the epoch before, or null.
  std::unique_ptr<Epoch> Enter(std::unique_ptr<Epoch> epoch);
  // Breaks the epoch: an elastic job re-forms, any other has failed.
  void Break(const std::string& reason);
  void Finish(const std::string& reason);
  void Fail(const std::string& reason);
  // Returns the epoch, which is not the current one any more; there is none then.
  std::unique_ptr<Epoch> DropEpoch() { return std::exchange(epoch_, nullptr); }
  // Forgets what is of another run: the job forms for the first time.
  void StartAnew();

  void BeginRecovery() { recovering_ = true; }
  void EndRecovery() { recovering_ = false; }

  // Tells all ranks of the stop, in this and every later epoch.
  void AskStop();
  bool stop_asked() const { return stop_asked_; }

  // Logs, at the end of an epoch, whom the others have waited for.
  void LogStragglers();

  // Returns the number of the next epoch: higher than any that was given out or observed.
  uint64_t NextEpochNumber();
  void ObserveEpochNumber(uint64_t number);
  uint64_t highest_epoch() const { return highest_epoch_; }

  const JobHistory& history() const { return history_; }
  // Notes that an epoch of this size forms, in which so many members replace others.
  void NoteFormation(uint32_t replacements, uint32_t size);
  // Takes over what a member of the current epoch was told. All members were told the same.
  void AdoptHistory(const JobHistory& claimed);
  // Losses of members, the latest first; as many as are worth telling of.
  const std::deque<Failure>& failures() const { return failures_; }
  void NoteFailure(Failure failure);
  // From a checkpoint.
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

#endif  // MUSTER_SERVER_CORE_LIFECYCLE_H_
