#include "server/core/job/lifecycle.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/statistics/lateness.h"

namespace muster::core {
namespace {

constexpr size_t kMaxFailuresKept = 64;

// Thresholds for the log lines about late ranks at the end of an epoch.
constexpr size_t kMaxLogged = 3;
constexpr absl::Duration kLeastLogged = absl::Seconds(1);

}  // namespace

bool Lifecycle::forming() const {
  return (state_ == JobState::kForming || state_ == JobState::kReforming) && !recovering_;
}

std::optional<absl::Status> Lifecycle::Outcome() const {
  if (recovering_) return std::nullopt;
  if (state_ == JobState::kFinished) return absl::OkStatus();
  if (state_ != JobState::kFailed) return std::nullopt;
  return job_.out.WithJob(absl::AbortedError(absl::StrCat("the job has failed: ", reason_)));
}

absl::Status Lifecycle::CheckEpoch(const Member& member, const EpochId& epoch) const {
  if (!epoch_ || !member.rank()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member.Describe(), " has not joined the job"));
  }
  if (!(epoch == epoch_->id())) {
    return absl::AbortedError(absl::StrCat("epoch ", epoch.number, " is not the current one, ",
                                           epoch_->id().number, "; join again"));
  }
  return epoch_->broken_status();
}

std::unique_ptr<Epoch> Lifecycle::Enter(std::unique_ptr<Epoch> epoch) {
  std::unique_ptr<Epoch> previous = std::exchange(epoch_, std::move(epoch));
  if (stop_asked_) epoch_->AskStop();
  state_ = JobState::kRunning;
  reason_.clear();
  return previous;
}

void Lifecycle::Break(const std::string& reason) {
  reason_ = reason;
  state_ = job_.elastic() ? JobState::kReforming : JobState::kFailed;
  epoch_->Break(reason_);
  ++job_.tally.counters.epochs_broken;
}

void Lifecycle::Finish(const std::string& reason) {
  state_ = JobState::kFinished;
  reason_ = reason;
}

void Lifecycle::Fail(const std::string& reason) {
  state_ = JobState::kFailed;
  reason_ = reason;
}

void Lifecycle::StartAnew() {
  state_ = JobState::kForming;
  stop_asked_ = false;
  history_ = {};
  failures_.clear();
}

// The daemon that formed the winner of two claimed epochs may not have known of the other one:
//
//   epoch 5 forms (largest size 6); the daemon restarts, and its members are slow to claim; others
//   form epoch 9 (largest size 4); the daemon restarts; epoch 5 is claimed first, epoch 9 wins.
//   Some members of epoch 9 were told 4, so nobody may be told 6.
std::unique_ptr<Epoch> Lifecycle::DropEpoch() {
  history_ = {};
  return std::exchange(epoch_, nullptr);
}

// Makes the next completion in the world tell the ranks.
void Lifecycle::AskStop() {
  stop_asked_ = true;
  if (epoch_) epoch_->AskStop();
}

uint64_t Lifecycle::NextEpochNumber() {
  const uint64_t wall = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(job_.now)));
  highest_epoch_ = std::max(highest_epoch_, wall) + 1;
  return highest_epoch_;
}

void Lifecycle::ObserveEpochNumber(uint64_t number) {
  highest_epoch_ = std::max(highest_epoch_, number);
}

void Lifecycle::NoteFormation(uint32_t replacements, uint32_t size) {
  const uint32_t room = std::numeric_limits<uint32_t>::max() - history_.replacements;
  history_.replacements += std::min(room, replacements);
  history_.largest_world_size = std::max(history_.largest_world_size, size);
}

void Lifecycle::AdoptHistory(const JobHistory& claimed) {
  history_.replacements = std::max(history_.replacements, claimed.replacements);
  history_.largest_world_size =
      std::max({history_.largest_world_size, claimed.largest_world_size, epoch_->size()});
}

void Lifecycle::NoteFailure(Failure failure) {
  failures_.push_front(std::move(failure));
  if (failures_.size() > kMaxFailuresKept) failures_.pop_back();
}

void Lifecycle::LogStragglers() {
  if (!epoch_) return;
  for (const Straggler& straggler : epoch_->lateness().Worst(kMaxLogged)) {
    if (straggler.waited_for < kLeastLogged) continue;
    // `muster run` shows warnings and errors only.
    job_.Log(Severity::kWarning, absl::StrCat(epoch_->members()[straggler.rank]->Describe(), " ",
                                              DescribeLateness(straggler)));
  }
}

void Lifecycle::Restore(uint64_t highest_epoch, const JobHistory& history) {
  highest_epoch_ = highest_epoch;
  history_ = history;
}

}  // namespace muster::core
