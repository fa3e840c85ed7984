#include "client/src/protocol/lifecycle.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::internal {

Lifecycle::Lifecycle(std::string job_id, Membership* membership, Outbox* outbox)
    : job_id_(std::move(job_id)), membership_(*membership), outbox_(*outbox) {}

void Lifecycle::Fail(const absl::Status& why) {
  fate_.Update(why);
  outbox_.AddNews();
}

void Lifecycle::Stop() {
  stopped_ = true;
  Fail(absl::CancelledError(absl::StrCat(Describe(), ": the Job was destroyed")));
}

void Lifecycle::BreakEpoch(const EpochId& epoch, EpochEnd end) {
  membership_.Ended(epoch, std::move(end));
  outbox_.AddNews();
}

absl::Status Lifecycle::HealthOf(const EpochId& epoch) const {
  const absl::Status health = membership_.HealthOf(epoch);
  return health.ok() ? fate_ : health;
}

absl::Status Lifecycle::CheckMember(const EpochId& epoch) const {
  absl::Status status = CheckNotLeaving();
  return status.ok() ? HealthOf(epoch) : status;
}

absl::Status Lifecycle::CheckNotLeaving() const {
  if (!leaving_) return fate_;
  return LeftError(job_id_, static_cast<int>(membership_.place()->rank()));
}

std::string Lifecycle::Describe() const {
  const std::string job = absl::StrCat("job '", job_id_, "'");
  const v1::JoinResponse* const place = membership_.place();
  return place == nullptr ? job : absl::StrCat("rank ", place->rank(), " of ", job);
}

void Lifecycle::AddTo(v1::Claim* claim) const {
  claim->set_leaving(leaving_);
  claim->set_stop_asked(stop_asked_);
}

absl::Status LeftError(const std::string& job_id, int rank) {
  return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " has left job '", job_id,
                                                    "': no calls are possible after Leave()"));
}

}  // namespace muster::internal
