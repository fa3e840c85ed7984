#include "server/core/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/utf8.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

// ---- The public face: every call is one step of the Impl ----

Coordinator::Coordinator(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Coordinator::Coordinator(Options options, Time now, const Checkpoint& checkpoint)
    : Coordinator(std::move(options)) {
  impl_->Restore(now, checkpoint);
}
Coordinator::~Coordinator() = default;

namespace {

// Runs one step. A status that is not OK refuses the call, which has changed nothing then.
template <class Impl, class Method, class Request>
Effects Call(Impl& impl, Time now, WaiterId waiter, Method method, const Request& request) {
  impl.Begin(now);
  if (absl::Status s = (impl.*method)(waiter, request); !s.ok()) impl.Refuse(waiter, s);
  return impl.Take();
}

}  // namespace

Effects Coordinator::Attach(Time now, WaiterId stream, const AttachRequest& request) {
  impl_->Begin(now);
  if (absl::Status s = impl_->Attach(stream, request); !s.ok()) impl_->RefuseStream(stream, s);
  return impl_->Take();
}

Effects Coordinator::StreamClosed(Time now, WaiterId stream) {
  impl_->Begin(now);
  impl_->StreamClosed(stream);
  return impl_->Take();
}

Effects Coordinator::Join(Time now, WaiterId waiter, const JoinRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<JoinRequest>, request);
}
Effects Coordinator::Rejoin(Time now, WaiterId waiter, const RejoinRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<RejoinRequest>, request);
}
Effects Coordinator::RequestStop(Time now, WaiterId waiter, const StopRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<StopRequest>, request);
}
Effects Coordinator::Collective(Time now, WaiterId waiter, const CollectiveRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<CollectiveRequest>, request);
}
Effects Coordinator::NodeCollective(Time now, WaiterId waiter,
                                    const NodeCollectiveRequest& request) {
  return Call(*impl_, now, waiter, &Impl::ReceiveTogether, request);
}
Effects Coordinator::WithdrawArrival(Time now, WaiterId waiter, const WithdrawRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<WithdrawRequest>, request);
}
Effects Coordinator::ReleaseGroups(Time now, WaiterId waiter, const ReleaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<ReleaseRequest>, request);
}
Effects Coordinator::AcquireLease(Time now, WaiterId waiter, const AcquireLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<AcquireLeaseRequest>, request);
}
Effects Coordinator::CompleteLease(Time now, WaiterId waiter, const CompleteLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<CompleteLeaseRequest>, request);
}
Effects Coordinator::AbandonLease(Time now, WaiterId waiter, const AbandonLeaseRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<AbandonLeaseRequest>, request);
}
Effects Coordinator::Leave(Time now, WaiterId waiter, const LeaveRequest& request) {
  return Call(*impl_, now, waiter, &Impl::Receive<LeaveRequest>, request);
}
Effects Coordinator::ReportExit(Time now, WaiterId waiter, const ExitReport& report) {
  return Call(*impl_, now, waiter, &Impl::ReportExit, report);
}

Effects Coordinator::ReportProcessState(Time now, WaiterId waiter,
                                        const ProcessStateReport& report) {
  return Call(*impl_, now, waiter, &Impl::ReportProcessState, report);
}

Effects Coordinator::Cancel(Time now, WaiterId waiter) {
  impl_->Begin(now);
  impl_->Cancel(waiter);
  return impl_->Take();
}

Effects Coordinator::Tick(Time now) {
  impl_->Begin(now);
  impl_->Tick();
  return impl_->Take();
}

Time Coordinator::NextDeadline() const { return impl_->NextDeadline(); }

std::optional<Checkpoint> Coordinator::MakeCheckpoint() const { return impl_->MakeCheckpoint(); }

Effects Coordinator::NoteVerdict(Time now, const std::string& verdict) {
  impl_->Begin(now);
  impl_->NoteVerdict(Printable(verdict));
  return impl_->Take();
}

Effects Coordinator::Drain(Time now, const std::string& reason) {
  impl_->Begin(now);
  impl_->Drain(Printable(reason));
  return impl_->Take();
}

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

Effects Coordinator::Impl::Take() {
  Advance();
  SendClosings();
  AnswerBatches();
  return out_.Take();
}

// What is due goes before what times out: a call may be answered yet.
void Coordinator::Impl::Tick() {
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

void Coordinator::Impl::NoteVerdict(const std::string& verdict) {
  Log(Severity::kWarning, absl::StrCat("verdict: ", verdict));
}

void Coordinator::Impl::Drain(std::string reason) {
  draining_ = std::move(reason);
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
