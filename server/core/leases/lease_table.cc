#include "server/core/leases/lease_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"

namespace muster::core {
namespace {

// The most abandoned request ids that are kept for a member. An abandoned request can arrive late
// only while its call is still in the network, so few matter. The bound limits what a peer can make
// the daemon hold.
constexpr size_t kMaxAbandonedPerMember = 1024;

// The number of tokens of forgotten outcomes that are remembered. A completion whose answer was
// lost is sent again soon.
constexpr size_t kMaxForgottenTokens = 65536;

LeaseTable::Step Only(WaiterId waiter, absl::Status status, LeaseAnswer answer = {}) {
  return {{waiter, std::move(status), std::move(answer)}};
}

std::string Describe(const LeaseKey& key) {
  return DescribeLease(key.name, key.scope, key.node_id, NodeNames());
}

absl::Status Abandoned(const LeaseKey& key) {
  return absl::CancelledError(absl::StrCat("this request for ", Describe(key),
                                           " was abandoned; ask again under a new request id"));
}

}  // namespace

LeaseTable::LeaseTable(const Limits& limits, uint64_t instance, ByteBudget* budget)
    : max_leases_(limits.max_leases),
      max_per_member_(limits.max_leases_per_member),
      max_result_bytes_(limits.max_held_bytes / 2),
      instance_(instance),
      budget_(budget),
      forgotten_(kMaxForgottenTokens) {}

uint64_t LeaseTable::NextToken(Time now) {
  const uint64_t wall = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixMicros(now)));
  const uint64_t number = std::max(highest_token_ >> kTokenShift, wall) + 1;
  highest_token_ = number << kTokenShift | (instance_ & ((1 << kTokenShift) - 1));
  return highest_token_;
}

// ---- Requests ----

LeaseTable::Step LeaseTable::Acquire(const LeaseKey& key, const Request& request, uint64_t attempt,
                                     WaiterId waiter) {
  if (IsAbandoned(request)) return Only(waiter, Abandoned(key));
  if (const Entry known = leases_.find(key); known != leases_.end()) {
    const Lease& lease = known->second;
    if (lease.result) {
      kept_.Use(&known->first);
      return Only(waiter, absl::OkStatus(), *lease.result);
    }
    if (lease.holder && lease.holder->request == request) {
      return Only(waiter, absl::OkStatus(), LeaseGrant{lease.holder->token});
    }
    if (Waiting* same = FindWaiting(known, request)) {
      if (attempt < same->attempt) {
        return Only(waiter, absl::CancelledError("a later send of the same call has arrived"));
      }
      same->attempt = attempt;
      return Only(std::exchange(same->waiter, waiter),
                  absl::CancelledError("replaced by a later send of the same call"));
    }
  }
  if (absl::Status s = CheckShare(key, request.member); !s.ok()) return Only(waiter, s);
  if (absl::Status s = MakeRoomForName(key); !s.ok()) return Only(waiter, s);
  const Entry lease = leases_.try_emplace(key).first;
  Enqueue(lease, request, attempt, waiter);
  Tidy(lease);
  return {};
}

LeaseTable::Step LeaseTable::GrantAll(Time now) {
  Step step;
  while (!grantable_.empty()) {
    const Entry lease = leases_.find(**grantable_.begin());
    const Waiting next = lease->second.queue.begin()->second;
    Dequeue(lease, next.request);
    Hold(lease, next.request, NextToken(now), now);
    Tidy(lease);
    step.push_back({next.waiter, absl::OkStatus(), LeaseGrant{lease->second.holder->token}});
  }
  return step;
}

absl::StatusOr<LeaseTable::Step> LeaseTable::Complete(const LeaseKey& key,
                                                      const Incarnation& member,
                                                      LeaseResult result) {
  const Entry lease = leases_.find(key);
  const bool current = lease != leases_.end() && lease->second.holder &&
                       lease->second.holder->token == result.token &&
                       lease->second.holder->request.member == member;
  if (!current) {
    if (forgotten_.Contains(result.token)) return Step();
    const bool done = lease != leases_.end() && lease->second.result &&
                      lease->second.result->token == result.token;
    if (done) return Step();
    return NotCurrent(key, result.token);
  }
  const uint64_t bytes = HeldBytes(result);
  if (absl::Status s = MakeRoomForBytes(key, bytes); !s.ok()) return s;
  kept_.Add(&lease->first, member, bytes);
  return Publish(lease, std::move(result));
}

absl::Status LeaseTable::NotCurrent(const LeaseKey& key, uint64_t token) const {
  const Lease* lease = Find(key);
  return absl::FailedPreconditionError(
      absl::StrCat("token ", token, " of ", Describe(key), " is not current",
                   lease != nullptr && lease->result
                       ? absl::StrCat("; the work was completed under token ", lease->result->token)
                   : lease != nullptr && lease->holder
                       ? absl::StrCat("; it is held under token ", lease->holder->token)
                       : "; nobody holds it",
                   "; discard what was done under that token, and acquire the lease again"));
}

LeaseTable::Step LeaseTable::Abandon(const LeaseKey& key, const Request& request) {
  RememberAbandoned(request);
  const Entry lease = leases_.find(key);
  if (lease == leases_.end()) return {};
  if (lease->second.holder && lease->second.holder->request == request) Release(lease);
  const std::optional<WaiterId> waiter = Dequeue(lease, request);
  Tidy(lease);
  return waiter ? Only(*waiter, Abandoned(key)) : Step();
}

bool LeaseTable::IsAbandoned(const Request& request) const {
  const auto member = members_.find(request.member);
  return member != members_.end() && member->second.abandoned.count(request.id) > 0;
}

void LeaseTable::RememberAbandoned(const Request& request) {
  std::set<uint64_t>& abandoned = members_[request.member].abandoned;
  abandoned.insert(request.id);
  if (abandoned.size() > kMaxAbandonedPerMember) abandoned.erase(abandoned.begin());
}

void LeaseTable::Withdraw(const LeaseKey& key, const Request& request) {
  const Entry lease = leases_.find(key);
  if (lease == leases_.end()) return;
  Dequeue(lease, request);
  Tidy(lease);
}

void LeaseTable::KeepOnly(const Incarnation& member, std::vector<uint64_t> tokens) {
  const auto it = members_.find(member);
  if (it == members_.end()) return;
  std::sort(tokens.begin(), tokens.end());
  for (const auto& [token, key] : std::set<NumberedKey, ByNumber>(it->second.held)) {
    if (std::binary_search(tokens.begin(), tokens.end(), token)) continue;
    const Entry lease = leases_.find(*key);
    Release(lease);
    Tidy(lease);
  }
}

void LeaseTable::Forget(const Incarnation& member) {
  KeepOnly(member, {});
  const auto it = members_.find(member);
  if (it == members_.end()) return;
  const auto waits = it->second.waits;
  for (const auto& [wait, ticket] : waits) Withdraw(LeaseKey(*wait.second), {member, wait.first});
  members_.erase(member);
}

void LeaseTable::Clear() {
  budget_->Release(kept_.bytes());
  kept_ = KeptResults();
  forgotten_ = RecentTokens(kMaxForgottenTokens);
  grantable_.clear();
  held_ = waiting_ = 0;
  members_.clear();
  leases_.clear();
}

// ---- Claims ----

bool LeaseTable::Stands(const LeaseKey& key, const Request& request, uint64_t token) const {
  if (forgotten_.Contains(token)) return true;
  const Lease* lease = Find(key);
  if (lease == nullptr) return false;
  if (lease->result) return lease->result->token == token;
  return lease->holder && lease->holder->token == token && lease->holder->request == request;
}

bool LeaseTable::AdoptHolder(const LeaseKey& key, const Request& request, uint64_t token,
                             Time now) {
  Observe(token);
  if (const Lease* known = Find(key)) {
    const bool later = (known->result && known->result->token >= token) ||
                       (known->holder && known->holder->token >= token);
    if (later) return Stands(key, request, token);
  }
  if (!CheckShare(key, request.member).ok() || !MakeRoomForName(key).ok()) return false;
  const Entry lease = leases_.try_emplace(key).first;
  if (lease->second.result) DropResult(lease);
  Release(lease);
  Hold(lease, request, token, now);
  Tidy(lease);
  return true;
}

bool LeaseTable::IsTaken(const LeaseKey& key) const {
  const Lease* known = Find(key);
  return known != nullptr && (known->holder || known->result);
}

absl::StatusOr<LeaseTable::Step> LeaseTable::AdoptResult(const LeaseKey& key,
                                                         const Incarnation& claimant,
                                                         const LeaseResult& result) {
  Observe(result.token);
  if (result.token <= forgotten_.highest()) return Step();
  if (const Lease* known = Find(key)) {
    const bool later = (known->result && known->result->token >= result.token) ||
                       (known->holder && known->holder->token > result.token);
    if (later) return Step();
  }
  const uint64_t bytes = HeldBytes(result);
  if (absl::Status s = CheckFree(key, bytes); !s.ok()) return s;
  if (absl::Status s = budget_->Reserve(bytes); !s.ok()) return s;
  const Entry lease = leases_.try_emplace(key).first;
  if (lease->second.result) DropResult(lease);
  kept_.AddOldest(&lease->first, claimant, bytes);
  return Publish(lease, result);
}

// ---- Changes of one lease ----

void LeaseTable::Enqueue(Entry lease, const Request& request, uint64_t attempt, WaiterId waiter) {
  const uint64_t ticket = ++tickets_;
  lease->second.queue.emplace(ticket, Waiting{request, waiter, attempt});
  members_[request.member].waits.emplace(NumberedKey{request.id, &lease->first}, ticket);
  ++waiting_;
}

std::optional<WaiterId> LeaseTable::Dequeue(Entry lease, const Request& request) {
  const auto member = members_.find(request.member);
  if (member == members_.end()) return std::nullopt;
  const auto wait = member->second.waits.find({request.id, &lease->first});
  if (wait == member->second.waits.end()) return std::nullopt;
  const auto place = lease->second.queue.find(wait->second);
  const WaiterId waiter = place->second.waiter;
  member->second.waits.erase(wait);
  EraseIfEmpty(request.member);
  lease->second.queue.erase(place);
  --waiting_;
  return waiter;
}

void LeaseTable::Hold(Entry lease, const Request& request, uint64_t token, Time now) {
  lease->second.holder = Holder{request, token, now};
  members_[request.member].held.insert({token, &lease->first});
  ++held_;
}

void LeaseTable::Release(Entry lease) {
  if (!lease->second.holder) return;
  const Holder holder = *std::exchange(lease->second.holder, std::nullopt);
  members_.at(holder.request.member).held.erase({holder.token, &lease->first});
  EraseIfEmpty(holder.request.member);
  --held_;
}

LeaseTable::Step LeaseTable::Publish(Entry lease, LeaseResult result) {
  Release(lease);
  lease->second.result = std::move(result);
  Step step;
  const std::map<uint64_t, Waiting> queue = lease->second.queue;
  for (const auto& [ticket, waiting] : queue) {
    Dequeue(lease, waiting.request);
    step.push_back({waiting.waiter, absl::OkStatus(), *lease->second.result});
  }
  Tidy(lease);
  return step;
}

void LeaseTable::DropResult(Entry lease) {
  budget_->Release(HeldBytes(*lease->second.result));
  kept_.Remove(&lease->first);
  lease->second.result.reset();
}

void LeaseTable::Tidy(Entry lease) {
  const Lease& state = lease->second;
  const bool free = !state.holder && !state.result;
  if (free && !state.queue.empty()) {
    grantable_.insert(&lease->first);
    return;
  }
  grantable_.erase(&lease->first);
  if (free) leases_.erase(lease);
}

void LeaseTable::EraseIfEmpty(const Incarnation& member) {
  const auto it = members_.find(member);
  if (it != members_.end() && it->second.empty()) members_.erase(it);
}

// ---- Room ----

absl::Status LeaseTable::CheckShare(const LeaseKey& key, const Incarnation& member) const {
  const auto it = members_.find(member);
  if (it == members_.end() || it->second.count() < max_per_member_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "no room for ", Describe(key), ": this process holds ", it->second.held.size(),
      " leases and waits for ", it->second.waits.size(),
      ", its limit together; complete some first (musterd --max-leases-per-member raises it)"));
}

absl::Status LeaseTable::MakeRoomForName(const LeaseKey& key) {
  if (leases_.size() < max_leases_ || leases_.count(key) > 0) return absl::OkStatus();
  if (kept_.empty()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no room for ", Describe(key), ": the coordinator has ", leases_.size(),
        " leases that are held or waited for, its limit; ask again when some are completed "
        "(musterd --max-leases raises it)"));
  }
  ForgetResult(*kept_.FirstToGoForNames());
  return absl::OkStatus();
}

// Reserves the bytes. Forgets outcomes only if that makes enough room.
absl::Status LeaseTable::MakeRoomForBytes(const LeaseKey& key, uint64_t bytes) {
  if (bytes > budget_->room() + kept_.bytes()) {
    const absl::Status full = budget_->Reserve(bytes);
    return absl::Status(
        full.code(), absl::StrCat("no room for the result of ", Describe(key), ": ", full.message(),
                                  "; the lease is still held: complete it with less, or fail "
                                  "it"));
  }
  while (!kept_.empty() && (bytes > budget_->room() || kept_.bytes() + bytes > max_result_bytes_)) {
    ForgetResult(*kept_.FirstToGoForBytes());
  }
  return budget_->Reserve(bytes);
}

absl::Status LeaseTable::CheckFree(const LeaseKey& key, uint64_t bytes) const {
  const bool known = leases_.count(key) > 0;
  if (!known && leases_.size() >= max_leases_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the coordinator keeps ", leases_.size(),
                     " leases, its limit (musterd --max-leases raises it)"));
  }
  if (kept_.bytes() + bytes <= max_result_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("results of leases take ", kept_.bytes(), " bytes; ", bytes,
                   " more would pass their limit of ", max_result_bytes_,
                   ", which is half of musterd --max-held-bytes"));
}

void LeaseTable::ForgetResult(const LeaseKey& key) {
  const Entry lease = leases_.find(key);
  forgotten_.Add(lease->second.result->token);
  ++forgotten_count_;
  last_forgotten_ = Describe(key);
  DropResult(lease);
  Tidy(lease);
}

std::optional<std::string> LeaseTable::TakeForgottenReport() {
  if (forgotten_count_ == 0 || forgotten_count_ < 2 * forgotten_reported_) return std::nullopt;
  forgotten_reported_ = forgotten_count_;
  return absl::StrCat("outcomes of ", forgotten_count_,
                      " leases were forgotten to make room, the last one for ", last_forgotten_,
                      "; the next process that asks for one of them does its work again (musterd "
                      "--max-leases and --max-held-bytes raise what is kept)");
}

// ---- Look-ups ----

LeaseTable::Waiting* LeaseTable::FindWaiting(Entry lease, const Request& request) {
  const auto member = members_.find(request.member);
  if (member == members_.end()) return nullptr;
  const auto wait = member->second.waits.find({request.id, &lease->first});
  if (wait == member->second.waits.end()) return nullptr;
  return &lease->second.queue.at(wait->second);
}

const LeaseTable::Lease* LeaseTable::Find(const LeaseKey& key) const {
  const auto it = leases_.find(key);
  return it == leases_.end() ? nullptr : &it->second;
}

}  // namespace muster::core
