#include "server/core/lease_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// An abandoned request can only arrive late while its call is still in the network, so few are
// worth remembering; the bound is on what a peer can make the daemon hold.
constexpr size_t kMaxAbandonedPerMember = 1024;

// The lowest bits of a token are the daemon's: two that go on from one and the same token, with
// clocks that are both behind it, do not grant the same next one. The rest holds microseconds until
// the year 2112 without passing what a claim may name.
constexpr int kDaemonBits = 10;

LeaseTable::Step Only(WaiterId waiter, absl::Status status, LeaseAnswer answer = {}) {
  return {{waiter, std::move(status), std::move(answer)}};
}

}  // namespace

uint64_t LeaseTable::NextToken(Time now) {
  const uint64_t wall = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(now)));
  const uint64_t number = std::max(highest_token_ >> kDaemonBits, wall) + 1;
  highest_token_ = number << kDaemonBits | (instance_ & ((1 << kDaemonBits) - 1));
  return highest_token_;
}

absl::Status LeaseTable::CheckRoomFor(const LeaseKey& key) const {
  if (leases_.count(key) > 0 || leases_.size() < max_leases_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the coordinator keeps ", leases_.size(),
                   " leases, its limit (musterd --max-leases raises it)"));
}

LeaseTable::Step LeaseTable::Acquire(const LeaseKey& key, const Request& request, uint64_t attempt,
                                     WaiterId waiter) {
  if (abandoned_.count(request) > 0) {
    return Only(waiter, absl::CancelledError("this request was abandoned"));
  }
  if (absl::Status s = CheckRoomFor(key); !s.ok()) return Only(waiter, s);
  Lease& lease = leases_[key];
  if (lease.result) return Only(waiter, absl::OkStatus(), *lease.result);
  if (lease.holder && lease.holder->request == request) {
    return Only(waiter, absl::OkStatus(), LeaseGrant{lease.holder->token});
  }
  const auto same = std::find_if(lease.queue.begin(), lease.queue.end(),
                                 [&](const Waiting& w) { return w.request == request; });
  if (same == lease.queue.end()) {
    lease.queue.push_back({request, waiter, attempt});
    return {};
  }
  if (attempt < same->attempt) {
    return Only(waiter, absl::CancelledError("a later send of the same call has arrived"));
  }
  same->attempt = attempt;
  return Only(std::exchange(same->waiter, waiter),
              absl::CancelledError("replaced by a later send of the same call"));
}

LeaseTable::Step LeaseTable::Grant(Time now, const LeaseKey& key) {
  const auto it = leases_.find(key);
  if (it == leases_.end()) return {};
  Lease& lease = it->second;
  if (lease.holder || lease.result || lease.queue.empty()) return {};
  const Waiting next = lease.queue.front();
  lease.queue.pop_front();
  lease.holder = Holder{next.request, NextToken(now), now};
  return Only(next.waiter, absl::OkStatus(), LeaseGrant{lease.holder->token});
}

LeaseTable::Step LeaseTable::GrantAll(Time now) {
  Step step;
  for (const auto& [key, lease] : leases_) {
    Step one = Grant(now, key);
    std::move(one.begin(), one.end(), std::back_inserter(step));
  }
  return step;
}

absl::StatusOr<LeaseTable::Step> LeaseTable::Complete(const LeaseKey& key,
                                                      const Incarnation& member,
                                                      LeaseResult result) {
  const std::string words = LeaseWords(key.name, key.scope, key.node_id);
  const auto it = leases_.find(key);
  if (it == leases_.end()) {
    return absl::FailedPreconditionError(absl::StrCat("nobody has asked for ", words));
  }
  Lease& lease = it->second;
  if (lease.result && lease.result->token == result.token) return Step();
  const bool current =
      lease.holder && lease.holder->token == result.token && lease.holder->request.member == member;
  if (!current) {
    return absl::FailedPreconditionError(absl::StrCat(
        "token ", result.token, " of ", words, " is not current",
        lease.result   ? absl::StrCat("; the work was completed under token ", lease.result->token)
        : lease.holder ? absl::StrCat("; it is held under token ", lease.holder->token)
                       : "; nobody holds it",
        "; discard what was done under the old token"));
  }
  return Publish(&lease, std::move(result));
}

absl::StatusOr<LeaseTable::Step> LeaseTable::Publish(Lease* lease, LeaseResult result) {
  if (absl::Status s = budget_->Reserve(result.value->size()); !s.ok()) return s;
  if (lease->result) budget_->Release(lease->result->value->size());
  lease->holder.reset();
  lease->result = std::move(result);
  Step step;
  for (const Waiting& waiting : std::exchange(lease->queue, {})) {
    step.push_back({waiting.waiter, absl::OkStatus(), *lease->result});
  }
  return step;
}

LeaseTable::Step LeaseTable::Abandon(const LeaseKey& key, const Request& request) {
  RememberAbandoned(request);
  const auto it = leases_.find(key);
  if (it == leases_.end()) return {};
  Lease& lease = it->second;
  if (lease.holder && lease.holder->request == request) lease.holder.reset();
  const auto same = std::find_if(lease.queue.begin(), lease.queue.end(),
                                 [&](const Waiting& w) { return w.request == request; });
  Step step;
  if (same != lease.queue.end()) {
    step = Only(same->waiter, absl::CancelledError("this request was abandoned"));
    lease.queue.erase(same);
  }
  EraseIfUnused(it);
  return step;
}

// Keeps names that were only ever waited for from filling the table.
void LeaseTable::EraseIfUnused(std::map<LeaseKey, Lease>::iterator it) {
  const Lease& lease = it->second;
  if (!lease.holder && !lease.result && lease.queue.empty()) leases_.erase(it);
}

void LeaseTable::RememberAbandoned(const Request& request) {
  const auto first = abandoned_.lower_bound({request.member, 0});
  const auto last = abandoned_.upper_bound({request.member, UINT64_MAX});
  if (static_cast<size_t>(std::distance(first, last)) >= kMaxAbandonedPerMember) {
    abandoned_.erase(first);
  }
  abandoned_.insert(request);
}

bool LeaseTable::Stands(const LeaseKey& key, const Request& request, uint64_t token) const {
  const Lease* lease = Find(key);
  if (lease == nullptr) return false;
  if (lease->result) return lease->result->token == token;
  return lease->holder && lease->holder->token == token && lease->holder->request == request;
}

bool LeaseTable::AdoptHolder(const LeaseKey& key, const Request& request, uint64_t token,
                             Time now) {
  Observe(token);
  if (!CheckRoomFor(key).ok()) return false;
  Lease& lease = leases_[key];
  const bool later_known = lease.result || (lease.holder && lease.holder->token >= token);
  if (!later_known) lease.holder = Holder{request, token, now};
  return Stands(key, request, token);
}

absl::StatusOr<LeaseTable::Step> LeaseTable::AdoptResult(const LeaseKey& key,
                                                         const LeaseResult& result) {
  Observe(result.token);
  if (absl::Status s = CheckRoomFor(key); !s.ok()) return s;
  Lease& lease = leases_[key];
  if (lease.result && lease.result->token >= result.token) return Step();
  return Publish(&lease, result);
}

void LeaseTable::KeepOnly(const Incarnation& member, const std::vector<uint64_t>& tokens) {
  for (auto& [key, lease] : leases_) {
    if (!lease.holder || lease.holder->request.member != member) continue;
    const bool kept = std::count(tokens.begin(), tokens.end(), lease.holder->token) > 0;
    if (!kept) lease.holder.reset();
  }
}

void LeaseTable::Withdraw(const LeaseKey& key, WaiterId waiter) {
  const auto it = leases_.find(key);
  if (it == leases_.end()) return;
  std::deque<Waiting>& queue = it->second.queue;
  queue.erase(std::remove_if(queue.begin(), queue.end(),
                             [waiter](const Waiting& w) { return w.waiter == waiter; }),
              queue.end());
  EraseIfUnused(it);
}

void LeaseTable::Forget(const Incarnation& member) {
  for (auto& [key, lease] : leases_) {
    if (lease.holder && lease.holder->request.member == member) lease.holder.reset();
  }
  abandoned_.erase(abandoned_.lower_bound({member, 0}),
                   abandoned_.upper_bound({member, UINT64_MAX}));
}

const LeaseTable::Lease* LeaseTable::Find(const LeaseKey& key) const {
  const auto it = leases_.find(key);
  return it == leases_.end() ? nullptr : &it->second;
}

}  // namespace muster::core
