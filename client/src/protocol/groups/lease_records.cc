#include "client/src/protocol/groups/lease_records.h"

#include <algorithm>
#include <iterator>

#include "client/src/protocol/messages/messages.h"

namespace muster::internal {

void LeaseRecords::Granted(const LeaseId& lease, uint64_t request, uint64_t token) {
  NoteToken(token);
  held_[token] = {lease, request};
}

std::optional<uint64_t> LeaseRecords::End(uint64_t token) {
  const auto held = held_.find(token);
  if (held == held_.end()) return std::nullopt;
  const uint64_t request = held->second.request;
  held_.erase(held);
  return request;
}

void LeaseRecords::KeepOnly(const std::set<uint64_t>& tokens) {
  for (auto held = held_.begin(); held != held_.end();) {
    held = tokens.count(held->first) != 0 ? std::next(held) : held_.erase(held);
  }
}

void LeaseRecords::Completed(const LeaseId& lease, const v1::LeaseResult& result,
                             size_t max_bytes) {
  NoteToken(result.token());
  const auto known = by_lease_.find(lease);
  if (known != by_lease_.end()) Forget(known->second);
  completed_.push_front({lease, result});
  by_lease_[lease] = completed_.begin();
  completed_bytes_ += result.ByteSizeLong();
  while (completed_bytes_ > max_bytes || completed_.size() > kMaxCompleted)
    Forget(std::prev(completed_.end()));
}

void LeaseRecords::Forget(std::list<CompletedWork>::iterator done) {
  completed_bytes_ -= done->result.ByteSizeLong();
  by_lease_.erase(done->lease);
  completed_.erase(done);
}

void LeaseRecords::AddTo(v1::Claim* claim) const {
  claim->set_highest_token(highest_token_);
  for (const auto& [token, held] : held_) {
    v1::HeldLease* const lease = claim->add_held_leases();
    lease->set_name(held.lease.name);
    lease->set_scope(ScopeOf(held.lease.scope));
    lease->set_token(token);
    lease->set_request_id(held.request);
  }
  for (const CompletedWork& done : completed_) {
    v1::CompletedLease* const lease = claim->add_completed_leases();
    lease->set_name(done.lease.name);
    lease->set_scope(ScopeOf(done.lease.scope));
    *lease->mutable_result() = done.result;
  }
}

void LeaseRecords::NoteToken(uint64_t token) { highest_token_ = std::max(highest_token_, token); }

}  // namespace muster::internal
