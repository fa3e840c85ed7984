#include "client/src/protocol/member_lifecycle.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::internal {

MemberLifecycle::MemberLifecycle(std::string job_id, MemberEpochs* epochs, MemberOutbox* outbox)
    : job_id_(std::move(job_id)), epochs_(*epochs), outbox_(*outbox) {}

void MemberLifecycle::Fail(const absl::Status& why) {
  final_status_.Update(why);
  outbox_.NoteStateChange();
}

void MemberLifecycle::Stop() {
  stopped_ = true;
  Fail(absl::CancelledError(absl::StrCat(Describe(), ": the Job was destroyed")));
}

void MemberLifecycle::BreakEpoch(const EpochId& epoch, EpochEnd end) {
  epochs_.Ended(epoch, std::move(end));
  outbox_.NoteStateChange();
}

absl::Status MemberLifecycle::HealthOf(const EpochId& epoch) const {
  const absl::Status health = epochs_.HealthOf(epoch);
  return health.ok() ? final_status_ : health;
}

absl::Status MemberLifecycle::CheckMember(const EpochId& epoch) const {
  absl::Status status = CheckNotLeaving();
  return status.ok() ? HealthOf(epoch) : status;
}

absl::Status MemberLifecycle::CheckNotLeaving() const {
  if (!leaving_) return final_status_;
  return LeftError(job_id_, static_cast<int>(epochs_.place()->rank()));
}

std::string MemberLifecycle::Describe() const {
  const std::string job = absl::StrCat("job '", job_id_, "'");
  const v1::JoinResponse* const place = epochs_.place();
  return place == nullptr ? job : absl::StrCat("rank ", place->rank(), " of ", job);
}

void MemberLifecycle::AddTo(v1::Claim* claim) const {
  claim->set_leaving(leaving_);
  claim->set_stop_asked(stop_asked_);
}

absl::Status LeftError(const std::string& job_id, int rank) {
  return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " has left job '", job_id,
                                                    "': no calls are possible after Leave()"));
}

}  // namespace muster::internal
