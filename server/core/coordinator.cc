#include "server/core/coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "common/text/utf8.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {

// ---- The public class ----

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
  return impl_->job().CheckJob(job_id);
}
JobStatus Coordinator::GetStatus(Time now, bool with_completed_leases) const {
  return impl_->status_reporter().GetStatus(now, with_completed_leases);
}
JobStatus Coordinator::GetBriefStatus(Time now, const std::vector<Incarnation>& members) const {
  return impl_->status_reporter().GetBriefStatus(now, members);
}
std::vector<TimelineEntry> Coordinator::GetTimeline() const {
  return impl_->job().timeline.Entries();
}
Metrics Coordinator::Measure(Time now) const {
  Metrics metrics = impl_->status_reporter().Measure(now);
  const store::Store& store = impl_->store();
  metrics.store_keys = store.slots().entries();
  metrics.store_clients = store.context().clients.attached();
  metrics.store_waits = store.operations().all().size();
  return metrics;
}
std::optional<absl::Status> Coordinator::Outcome() const { return impl_->life().Outcome(); }
bool Coordinator::Quiet() const { return impl_->Quiet(); }
const Options& Coordinator::options() const { return impl_->job().options; }
std::string Coordinator::FindWrongCounts() const { return impl_->forming().FindWrongCounts(); }

// ---- The frame of a step ----

Effects Coordinator::Impl::End() {
  Advance();
  releases_.SendClosings();
  calls_.AnswerBatches();
  LoseStoreClients();
  store_stalls_.NoteStep();
  Effects effects = job_.out.Take();
  TakeStoreEffects(&effects);
  return effects;
}

void Coordinator::Impl::Take(WaiterId stream, const AttachRequest& request) {
  if (absl::Status s = attaching_.Serve(stream, request); !s.ok()) job_.out.EndStream(stream, s);
}

void Coordinator::Impl::Take(WaiterId stream, const StreamClosed&) {
  if (store_.StreamClosed(stream)) return;
  if (!recovery_.TakeParkedClaim(stream)) membership_.NoteStreamClosed(stream);
}

// Does what is due before it times calls out, because that may answer a call whose deadline has
// passed.
void Coordinator::Impl::Take(WaiterId, const DeadlineReached&) {
  Advance();
  stall_reports_.Check();
  store_stalls_.Check();
  calls_.LogSuppressedTimeouts();
  while (std::optional<WaiterId> id = calls_.PopExpired()) TimeOut(*id);
  forming_.ForgetAwaitedText();
}

Time Coordinator::Impl::NextDeadline() const {
  if (job_.draining) return absl::InfiniteFuture();  // Advance() does nothing any more
  return std::min({calls_.parked().NextDeadline(), members_.NextGrace(),
                   joining_.places().NextContenderDeadline(), forming_.NextStep(),
                   give_up_policy_.NextStep(), newcomer_announcer_.NextStep(), stalls_.next(),
                   recovery_.NextStep(), calls_.NextTimeoutSummary(), store_.NextDeadline(),
                   store_stalls_.NextStep()});
}

void Coordinator::Impl::Take(WaiterId, const VerdictFound& verdict) {
  job_.Log(Severity::kWarning, absl::StrCat("verdict: ", ReplaceUnprintable(verdict.text)));
}

void Coordinator::Impl::Take(WaiterId, const DrainBegun& drain) {
  job_.draining = ReplaceUnprintable(drain.reason);
  const absl::Status status = absl::UnavailableError(*job_.draining);
  life_.EndRecovery();
  stalls_.Stop();
  for (const WaiterId id : calls_.parked().All()) calls_.Finish(id, status);
  while (const ParkedClaims::Entry* claim = recovery_.claims().Lowest()) {
    recovery_.EndParkedClaim(claim->stream, status);
  }
  for (const WaiterId stream : members_.Streams()) {
    membership_.EndStream(members_.FindByStream(stream), status);
  }
  store_stalls_.Stop();
  store_.Drain(status);
}

void Coordinator::Impl::Take(WaiterId id, const CallCancelled&) {
  if (calls_.DropBatch(id)) return;
  membership_.Withdraw(id);
  calls_.Drop(id);
}

absl::Status Coordinator::Impl::DescribeTimeout(const ParkedCall& call) {
  return std::visit(
      Overloaded{
          [&](const WaitForPlace& wait) { return forming_.DescribeTimeout(call, wait); },
          [&](const WaitForCollective& wait) { return collectives_.DescribeTimeout(call, wait); },
          [&](const WaitForLease& wait) { return leases_.DescribeTimeout(call, wait); },
          [&](const WaitForLeavers& wait) { return membership_.DescribeTimeout(call, wait); },
          [&](const WaitForRecovery& wait) { return recovery_.DescribeTimeout(call, wait); },
      },
      call.wait);
}

// Makes the text before the withdrawal, so that the caller's own arrival does not count as missing.
void Coordinator::Impl::TimeOut(WaiterId id) {
  const ParkedCall& call = *calls_.parked().Find(id);
  if (NodeBatches::IsPart(id)) {  // its member learns of it from a call of its own
    membership_.Withdraw(id);
    return calls_.Finish(id, absl::DeadlineExceededError("the part's wait has ended"));
  }
  Member* member = call.member;
  const bool leaves = std::holds_alternative<WaitForLeavers>(call.wait);
  const absl::Status status = DescribeTimeout(call);
  calls_.NoteTimeout(call, status);
  if (std::holds_alternative<WaitForCollective>(call.wait)) {
    status_reporter_.Inquire(std::string(status.message()));
  }
  membership_.Withdraw(id);
  calls_.TimeOut(id, status);
  if (leaves) {
    membership_.Lose({{member, LossCause::kLeftEarly,
                       "its Leave() timed out before all others had called Leave()"}});
  }
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const StopRequest&) {
  if (!epoch() || !member->rank()) {
    return absl::FailedPreconditionError(
        absl::StrCat(member->Describe(), " has not joined the job"));
  }
  if (!life_.stop_asked()) {
    job_.Log(Severity::kInfo, absl::StrCat(member->Describe(), " asks all ranks to stop"));
  }
  life_.AskStop();
  calls_.Respond(id);
  return absl::OkStatus();
}

}  // namespace muster::core
