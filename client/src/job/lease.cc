#include "muster/lease.h"

#include "absl/strings/str_cat.h"
#include "client/src/control_plane/control_plane.h"
#include "client/src/job/lease_state.h"
#include "client/src/job/live_jobs.h"
#include "muster/log.h"

namespace muster {
namespace {

// Warns only while the job lives: afterwards no process repeats the work.
void WarnOfDroppedLease(const Lease::State& lease) {
  const std::string& job = lease.control->job_id();
  if (!lease.control->health().ok() || !internal::IsLiveJob(job)) return;
  Log(LogLevel::kWarning,
      absl::StrCat("job '", job, "': lease '", lease.name,
                   "' was held and dropped without an outcome, so the next process to ask for it "
                   "does the work again; call Complete() or Fail() before the Lease is destroyed, "
                   "or Release() to give it up on purpose"));
}

}  // namespace

Lease::State::~State() {
  // In a fork, the lease still belongs to the parent.
  if (!open || !control->CheckProcess().ok()) return;
  if (!answered) WarnOfDroppedLease(*this);
  control->ReleaseLease(name, scope, outcome.token);
}

Lease::Lease(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lease::Lease(Lease&&) noexcept = default;
Lease& Lease::operator=(Lease&&) noexcept = default;
Lease::~Lease() = default;

bool Lease::held() const { return state_->outcome.held; }
uint64_t Lease::token() const { return state_->outcome.token; }
const absl::StatusOr<std::string>& Lease::result() const { return state_->outcome.result; }

absl::Status Lease::Complete(absl::string_view result) { return Send(std::string(result)); }

absl::Status Lease::Fail(const absl::Status& error) {
  if (error.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("lease '", state_->name, "': Fail() takes an error; use Complete()"));
  }
  return Send(error);
}

void Lease::Release() {
  if (!state_->open || !state_->control->CheckProcess().ok()) return;
  state_->open = false;
  state_->control->ReleaseLease(state_->name, state_->scope, state_->outcome.token);
}

absl::Status Lease::Publish(const absl::StatusOr<std::string>& outcome) {
  absl::Status sent = Send(outcome);
  // The outcome is too large, so the other ranks get this error instead. The caller gets it too,
  // even if it cannot be published.
  if (outcome.ok() && absl::IsResourceExhausted(sent)) Send(sent).IgnoreError();
  return sent;
}

absl::Status Lease::Send(const absl::StatusOr<std::string>& outcome) {
  if (absl::Status status = state_->control->CheckProcess(); !status.ok()) return status;
  if (!state_->open) {
    return absl::FailedPreconditionError(
        absl::StrCat("lease '", state_->name, "' is not held by this process",
                     state_->outcome.held
                         ? " any more: it was completed, failed or released before"
                         : ": another process has done the work, and this Lease has its result"));
  }
  state_->answered = true;
  if (outcome.ok()) {
    absl::Status status = internal::CheckPayload(
        *state_->control, absl::StrCat("result of lease '", state_->name, "'"), outcome->size());
    if (!status.ok()) return status;
  }
  absl::Status sent =
      state_->control->CompleteLease(state_->name, state_->scope, state_->outcome.token, outcome);
  if (sent.ok() || absl::IsFailedPrecondition(sent)) state_->open = false;
  return sent;
}

}  // namespace muster
