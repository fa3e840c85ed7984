// Leases: what the job adds to the lease table.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"
#include "server/core/validation.h"

namespace muster::core {
namespace {

bool IsDetached(const Member& member) { return !member.attached() && !member.left(); }

// Whose call it is, for those who read the error far from the process that got it.
absl::Status Of(const Member& member, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(member.who(), ": ", status.message()));
}

// "rank 3 (node 'a', host h, pid 7), which is detached,", "ranks 1,3, which are detached,".
std::string DescribeDetached(const Epoch& epoch) {
  std::vector<uint32_t> detached;
  for (const Member* member : epoch.members()) {
    if (IsDetached(*member)) detached.push_back(*member->rank());
  }
  if (detached.size() != 1) return absl::StrCat(Ranks(detached), ", which are detached,");
  return absl::StrCat(epoch.members()[detached[0]]->who(), ", which is detached,");
}

}  // namespace

absl::Status Coordinator::Impl::CheckContent(const Member& member,
                                             const AcquireLeaseRequest& request) const {
  return Of(member, CheckLeaseName(request.name, job_.options.limits));
}

absl::Status Coordinator::Impl::CheckContent(const Member& member,
                                             const CompleteLeaseRequest& request) const {
  absl::Status status = CheckLeaseName(request.name, job_.options.limits);
  status.Update(CheckLeaseResult(request.name, request.result, job_.options.limits));
  return Of(member, status);
}

absl::Status Coordinator::Impl::CheckContent(const Member& member,
                                             const AbandonLeaseRequest& request) const {
  return Of(member, CheckLeaseName(request.name, job_.options.limits));
}

LeaseKey Coordinator::Impl::KeyOf(const Member& member, LeaseScope scope,
                                  const std::string& name) const {
  return {scope, scope == LeaseScope::kNode ? member.identity.node_id : "", name};
}

// A holder that is only detached might still be at work: nothing is granted until everybody is
// here.
bool Coordinator::Impl::MayGrant() const {
  return epoch() && !epoch()->broken() && !life_.recovering() && members_.tally().detached == 0;
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const AcquireLeaseRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = CheckStays(*member); !s.ok()) return s;
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  calls_.Park(id, member, ForLease{key, request.request_id}, request.call,
              Calls::Say(absl::StrCat("AcquireLease('", request.name, "')")));
  Apply(leases_.Acquire(key, {member->identity.incarnation, request.request_id},
                        request.call.attempt, id));
  ReportForgottenResults();
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const CompleteLeaseRequest& request) {
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  absl::StatusOr<LeaseTable::Step> step =
      leases_.Complete(key, member->identity.incarnation, request.result);
  if (!step.ok()) return Of(*member, step.status());
  ReportForgottenResults();
  calls_.Respond(id);
  Apply(*step);
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const AbandonLeaseRequest& request) {
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  calls_.Respond(id);
  Apply(leases_.Abandon(key, {member->identity.incarnation, request.request_id}));
  return absl::OkStatus();
}

void Coordinator::Impl::Apply(const LeaseTable::Step& step) {
  for (const LeaseTable::Finished& done : step) {
    const ParkedCall* call = calls_.parked().Find(done.waiter);
    if (call == nullptr) continue;
    if (done.status.ok()) job_.tally.counters.lease_waits.Add(job_.now - call->since);
    calls_.Finish(done.waiter, Of(*call->member, done.status), done.answer);
  }
}

void Coordinator::Impl::ReportForgottenResults() {
  if (std::optional<std::string> news = leases_.TakeForgottenNews()) {
    job_.Log(Severity::kWarning, *std::move(news));
  }
}

absl::Status Coordinator::Impl::LeaseTimeout(const ParkedCall& call, const ForLease& wait) const {
  const LeaseKey& key = wait.key;
  const LeaseTable::Lease* lease = leases_.Find(key);
  std::string why = absl::StrCat("it was not granted, because ", DescribeDetached(*epoch()),
                                 " might hold it; ask again when all are back");
  if (lease != nullptr && lease->holder) {
    const Member* holder = members_.Find(lease->holder->request.member);
    why = absl::StrCat("held by ", holder == nullptr ? "a lost process" : holder->who(), " for ",
                       HowLong(job_.now - lease->holder->since), " under token ",
                       lease->holder->token,
                       "; wait longer if the work takes that long, or see what holds it up");
  }
  return absl::DeadlineExceededError(
      absl::StrCat(DescribeLease(key.name, key.scope, key.node_id, members_.node_names()),
                   " waited ", HowLong(call.timeout), "; ", why));
}

}  // namespace muster::core
