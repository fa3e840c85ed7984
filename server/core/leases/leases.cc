// Leases: what the job adds to the lease table.

#include "server/core/leases/leases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/api/validation.h"
#include "server/core/job/member_state.h"

namespace muster::core {
namespace {

bool IsDetached(const Member& member) { return !member.attached() && !member.left(); }

LeaseKey KeyOf(const Member& member, LeaseScope scope, const std::string& name) {
  return {scope, scope == LeaseScope::kNode ? member.identity.node_id : "", name};
}

// Adds the caller to the error, for readers far from the process that got it.
absl::Status AboutMember(const Member& member, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(member.Describe(), ": ", status.message()));
}

// Returns text such as "rank 3 (node 'a', host h, pid 7), which is detached," or "ranks 1,3, which
// are detached,".
std::string DescribeDetached(const Epoch& epoch) {
  std::vector<uint32_t> detached;
  for (const Member* member : epoch.members()) {
    if (IsDetached(*member)) detached.push_back(*member->rank());
  }
  if (detached.size() != 1) return absl::StrCat(Ranks(detached), ", which are detached,");
  return absl::StrCat(epoch.members()[detached[0]]->Describe(), ", which is detached,");
}

}  // namespace

Leases::Leases(JobContext& job, const Lifecycle& life, const MemberTable& members, Calls& calls)
    : job_(job),
      life_(life),
      members_(members),
      calls_(calls),
      table_(job.options.limits, job.options.instance, &job.budget) {}

absl::Status Leases::CheckContent(const Member& member, const AcquireLeaseRequest& request) const {
  return AboutMember(member, CheckLeaseName(request.name, job_.options.limits));
}

absl::Status Leases::CheckContent(const Member& member, const CompleteLeaseRequest& request) const {
  absl::Status status = CheckLeaseName(request.name, job_.options.limits);
  status.Update(CheckLeaseResult(request.name, request.result, job_.options.limits));
  return AboutMember(member, status);
}

absl::Status Leases::CheckContent(const Member& member, const AbandonLeaseRequest& request) const {
  return AboutMember(member, CheckLeaseName(request.name, job_.options.limits));
}

// Returns whether leases may be granted. A detached member might still hold a lease and work, so no
// lease is granted until all members are attached.
bool Leases::MayGrant() const {
  return life_.epoch() && !life_.epoch()->broken() && !life_.recovering() &&
         members_.counts().detached == 0;
}

absl::Status Leases::Serve(WaiterId id, Member* member, const AcquireLeaseRequest& request) {
  if (absl::Status s = life_.CheckEpoch(*member, request.epoch); !s.ok()) return s;
  if (absl::Status s = CheckNotLeaving(*member); !s.ok()) return s;
  if (absl::Status s = calls_.CanPark(*member); !s.ok()) return s;
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  calls_.Park(id, member, WaitForLease{key, request.request_id}, request.call,
              Calls::MakeDescription(absl::StrCat("AcquireLease('", request.name, "')")));
  Apply(table_.Acquire(key, {member->identity.incarnation, request.request_id},
                       request.call.attempt, id));
  ReportForgottenResults();
  return absl::OkStatus();
}

absl::Status Leases::Serve(WaiterId id, Member* member, const CompleteLeaseRequest& request) {
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  absl::StatusOr<LeaseTable::Step> step =
      table_.Complete(key, member->identity.incarnation, request.result);
  if (!step.ok()) return AboutMember(*member, step.status());
  ReportForgottenResults();
  calls_.Respond(id);
  Apply(*step);
  return absl::OkStatus();
}

absl::Status Leases::Serve(WaiterId id, Member* member, const AbandonLeaseRequest& request) {
  const LeaseKey key = KeyOf(*member, request.scope, request.name);
  calls_.Respond(id);
  Apply(table_.Abandon(key, {member->identity.incarnation, request.request_id}));
  return absl::OkStatus();
}

void Leases::Apply(const LeaseTable::Step& step) {
  for (const LeaseTable::Finished& done : step) {
    const ParkedCall* call = calls_.parked().Find(done.waiter);
    if (call == nullptr) continue;
    if (done.status.ok()) job_.tally.counters.lease_waits.Add(job_.now - call->since);
    calls_.Finish(done.waiter, AboutMember(*call->member, done.status), done.answer);
  }
}

void Leases::ReportForgottenResults() {
  if (std::optional<std::string> news = table_.TakeForgottenReport()) {
    job_.Log(Severity::kWarning, *std::move(news));
  }
}

absl::Status Leases::DescribeTimeout(const ParkedCall& call, const WaitForLease& wait) const {
  const LeaseKey& key = wait.key;
  const LeaseTable::Lease* lease = table_.Find(key);
  std::string why = absl::StrCat("it was not granted, because ", DescribeDetached(*life_.epoch()),
                                 " might hold it; ask again when all are back");
  if (lease != nullptr && lease->holder) {
    const Member* holder = members_.Find(lease->holder->request.member);
    why = absl::StrCat("held by ", holder == nullptr ? "a lost process" : holder->Describe(),
                       " for ", DescribeDuration(job_.now - lease->holder->since), " under token ",
                       lease->holder->token,
                       "; wait longer if the work takes that long, or find out what the holder is "
                       "doing (muster debug)");
  }
  return absl::DeadlineExceededError(
      absl::StrCat(DescribeLease(key.name, key.scope, key.node_id, members_.node_names()),
                   " waited ", DescribeDuration(call.timeout), "; ", why));
}

bool Leases::TryGrant() {
  if (!table_.HasGrantable() || !MayGrant()) return false;
  Apply(table_.GrantAll(job_.now));
  return true;
}

// Takes in the results of a claim, the latest first, so that the oldest find no room. A member that
// holds the lease, or has completed it here, is believed before the claims of other members. A
// recovering coordinator has no such knowledge.
void Leases::AdoptResults(const Member& member, const Claim& claim) {
  size_t refused = 0;
  absl::Status why;
  for (const CompletedLease& done : claim.completed) {
    const LeaseKey key = KeyOf(member, done.scope, done.name);
    if (!life_.recovering() && table_.IsTaken(key)) continue;
    absl::StatusOr<LeaseTable::Step> step =
        table_.AdoptResult(key, member.incarnation(), done.result);
    if (step.ok()) {
      Apply(*step);
    } else if (++refused == 1) {
      why = step.status();
    }
  }
  if (refused == 0) return;
  job_.Log(Severity::kWarning,
           absl::StrCat("of the ", claim.completed.size(), " results of leases that ",
                        member.Describe(), " knows, ", refused, " are not kept: ", why.message()),
           "results");
}

std::vector<uint64_t> Leases::Adopt(const Member& member, const Claim& claim) {
  AdoptResults(member, claim);
  std::vector<uint64_t> standing;
  for (const HeldLease& held : claim.held) {
    const LeaseKey key = KeyOf(member, held.scope, held.name);
    const LeaseTable::Request request{member.identity.incarnation, held.request_id};
    const bool stands = life_.recovering() ? table_.AdoptHolder(key, request, held.token, job_.now)
                                           : table_.Stands(key, request, held.token);
    if (stands) standing.push_back(held.token);
  }
  table_.KeepOnly(member.identity.incarnation, standing);
  ReportForgottenResults();
  return standing;
}

void Leases::Withdraw(const Member& member, const WaitForLease& wait) {
  table_.Withdraw(wait.key, {member.incarnation(), wait.request_id});
}

void Leases::MakeCheckpoint(Checkpoint* out) const {
  out->highest_token = table_.highest_token();
  // A completed lease has no holder. The checkpoint names any member for it.
  const Incarnation& anybody = out->members.front().place.member.incarnation;
  for (const auto& [key, lease] : table_.all()) {
    if (lease.result) {
      out->leases.push_back({key, anybody, lease.result->token, 0, lease.result});
    } else if (lease.holder) {
      const LeaseTable::Request& request = lease.holder->request;
      out->leases.push_back({key, request.member, lease.holder->token, request.id, std::nullopt});
    }
  }
}

void Leases::Restore(const Checkpoint& checkpoint) {
  for (const Checkpoint::Lease& known : checkpoint.leases) {
    if (known.result) {
      // There may be no room here for an outcome that the checkpoint's daemon had kept.
      table_.AdoptResult(known.key, known.member, *known.result).IgnoreError();
    } else {
      table_.AdoptHolder(known.key, {known.member, known.request_id}, known.token, job_.now);
    }
  }
  table_.Observe(checkpoint.highest_token);
}

}  // namespace muster::core
