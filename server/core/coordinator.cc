#include "server/core/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

// ---- The public face ----

Coordinator::Coordinator(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Coordinator::Coordinator(Options options, Time now, const Checkpoint& checkpoint)
    : Coordinator(std::move(options)) {
  impl_->Restore(now, checkpoint);
}
Coordinator::~Coordinator() = default;

Effects Coordinator::Step(Time now, WaiterId id, const Input& input) {
  impl_->Begin(now);
  std::visit([&](const auto& in) { impl_->Take(id, in); }, input);
  return impl_->End();
}

Time Coordinator::NextDeadline() const { return impl_->NextDeadline(); }

std::optional<Checkpoint> Coordinator::MakeCheckpoint() const { return impl_->MakeCheckpoint(); }

absl::Status Coordinator::CheckJob(absl::string_view job_id) const {
  return impl_->CheckJob(job_id);
}
JobStatus Coordinator::GetStatus(Time now, bool with_completed_leases) const {
  return impl_->GetStatus(now, with_completed_leases);
}
JobStatus Coordinator::GetBriefStatus(Time now, const std::vector<Incarnation>& members) const {
  return impl_->GetBriefStatus(now, members);
}
std::vector<TimelineEntry> Coordinator::GetTimeline() const { return impl_->GetTimeline(); }
Metrics Coordinator::Measure(Time now) const { return impl_->Measure(now); }
std::optional<absl::Status> Coordinator::Outcome() const { return impl_->Outcome(); }
bool Coordinator::Quiet() const { return impl_->Quiet(); }
const Options& Coordinator::options() const { return impl_->options(); }
std::string Coordinator::FindWrongCounts() const { return impl_->FindWrongCounts(); }

// ---- The frame of a step ----

Coordinator::Impl::Impl(Options options)
    : options_(std::move(options)),
      out_(options_.job_id),
      budget_(options_.limits.max_held_bytes),
      leases_(options_.limits, options_.instance, &budget_),
      places_(elastic()) {}

Effects Coordinator::Impl::End() {
  Advance();
  SendClosings();
  AnswerBatches();
  return out_.Take();
}

void Coordinator::Impl::Take(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = Attach(stream, request); !s.ok()) out_.EndStream(stream, s);
}

// What is due goes before what times out: a call may be answered yet.
void Coordinator::Impl::Take(WaiterId, const DeadlineReached&) {
  Advance();
  CheckStalls();
  TellTimeoutsLeftOut();
  while (std::optional<WaiterId> id = parked_.PopExpired(now_)) TimeOut(*id);
  awaited_words_.reset();
}

Time Coordinator::Impl::NextDeadline() const {
  if (draining_) return absl::InfiniteFuture();  // Advance() does nothing any more
  return std::min({parked_.NextDeadline(), members_.NextGrace(), places_.NextContenderDeadline(),
                   NextFormation(), NextGivingUp(), NextAnnouncement(), stall_check_,
                   NextRecoveryStep(), timeouts_.Next()});
}

void Coordinator::Impl::Take(WaiterId, const VerdictFound& verdict) {
  Log(Severity::kWarning, absl::StrCat("verdict: ", Printable(verdict.text)));
}

void Coordinator::Impl::Take(WaiterId, const DrainBegun& drain) {
  draining_ = Printable(drain.reason);
  const absl::Status status = absl::UnavailableError(*draining_);
  recovery_ends_.reset();
  stall_check_ = absl::InfiniteFuture();
  for (const WaiterId id : parked_.All()) Finish(id, status);
  while (const ParkedClaims::Entry* claim = claims_.Lowest()) EndParkedClaim(claim->stream, status);
  for (const WaiterId stream : members_.Streams()) {
    EndStream(members_.FindByStream(stream), status);
  }
}

std::optional<absl::Status> Coordinator::Impl::Outcome() const {
  if (recovering()) return std::nullopt;
  if (state_ == JobState::kFinished) return absl::OkStatus();
  if (state_ == JobState::kFailed) {
    return out_.WithJob(absl::AbortedError(absl::StrCat("the job has failed: ", reason_)));
  }
  return std::nullopt;
}

}  // namespace muster::core
