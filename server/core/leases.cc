// Leases: what the job adds to the lease table.

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {

absl::Status Coordinator::Impl::CheckLease(absl::string_view name) const {
  return ValidateName("lease name", name, options_.limits.max_name_bytes);
}

LeaseKey Coordinator::Impl::KeyOf(const Member& member, LeaseScope scope,
                                  const std::string& name) const {
  return {scope, scope == LeaseScope::kNode ? member.identity.node_id : "", name};
}

// A holder that is only detached might still be at work: nothing is granted until everybody is
// here.
bool Coordinator::Impl::MayGrant() const {
  if (!epoch_ || !epoch_->broken.ok() || recovering()) return false;
  for (const Member* member : epoch_->members) {
    if (!member->attached() && !member->left) return false;
  }
  return true;
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const AcquireLeaseRequest& request) {
  if (absl::Status s = CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = CheckStays(*member); !s.ok()) return s;
  if (absl::Status s = CheckLease(request.name); !s.ok()) return s;
  if (absl::Status s = CanPark(); !s.ok()) return s;
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  Waiter waiter(member, Waiter::Call::kLease);
  waiter.lease = key;
  Park(id, std::move(waiter), request.call, absl::StrCat("AcquireLease('", request.name, "')"));
  Apply(leases_.Acquire(key, {member->identity.incarnation, request.request_id},
                        request.call.attempt, id));
  if (MayGrant()) Apply(leases_.Grant(now_, key));
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const CompleteLeaseRequest& request) {
  if (absl::Status s = CheckLease(request.name); !s.ok()) return s;
  const uint64_t size = request.result.value->size();
  if (size > options_.limits.max_payload_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the result of lease '", request.name, "' has ", size, " bytes; the limit is ",
        options_.limits.max_payload_bytes, " (musterd --max-payload-bytes raises it)"));
  }
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  absl::StatusOr<LeaseTable::Step> step =
      leases_.Complete(key, member->identity.incarnation, request.result);
  if (!step.ok()) return step.status();
  Respond(id);
  Apply(*step);
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member,
                                      const AbandonLeaseRequest& request) {
  if (absl::Status s = CheckLease(request.name); !s.ok()) return s;
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  Respond(id);
  Apply(leases_.Abandon(key, {member->identity.incarnation, request.request_id}));
  if (MayGrant()) Apply(leases_.Grant(now_, key));
  return absl::OkStatus();
}

void Coordinator::Impl::Apply(const LeaseTable::Step& step) {
  for (const LeaseTable::Finished& done : step) Finish(done.waiter, done.status, done.answer);
}

void Coordinator::Impl::GrantLeases() {
  if (MayGrant()) Apply(leases_.GrantAll(now_));
}

absl::Status Coordinator::Impl::LeaseTimeout(const Waiter& waiter) const {
  const LeaseKey& key = waiter.lease;
  const LeaseTable::Lease* lease = leases_.Find(key);
  std::string why = "it was not granted, because a member of the job is detached";
  if (lease != nullptr && lease->holder) {
    const auto holder = members_.find(lease->holder->request.member);
    why = absl::StrCat("held by ",
                       holder == members_.end() ? "a lost process" : holder->second->who(), " for ",
                       HowLong(now_ - lease->holder->since), " under token ", lease->holder->token);
  }
  return absl::DeadlineExceededError(absl::StrCat(LeaseWords(key.name, key.scope, key.node_id),
                                                  " waited ", HowLong(waiter.timeout), "; ", why));
}

}  // namespace muster::core
