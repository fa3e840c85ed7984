#include "tests/server/core/leases/naive_leases.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::core {
namespace {

std::string AnswerText(WaiterId waiter, const std::string& what) {
  return absl::StrCat(waiter, ": ", what);
}

std::string Granted(WaiterId waiter, uint64_t token) {
  return AnswerText(waiter, absl::StrCat("granted ", token));
}

std::string Done(WaiterId waiter, uint64_t token, const std::string& value) {
  return AnswerText(waiter, absl::StrCat("done ", token, " ", value));
}

std::string TextOf(const LeaseTable::Finished& done) {
  const std::string code = absl::StatusCodeToString(done.status.code());
  if (!done.status.ok()) return AnswerText(done.waiter, code);
  if (const auto* grant = std::get_if<LeaseGrant>(&done.answer)) {
    return Granted(done.waiter, grant->token);
  }
  const auto& result = std::get<LeaseResult>(done.answer);
  return Done(done.waiter, result.token, *result.value);
}

template <class List, class Predicate>
void EraseIf(List* list, Predicate predicate) {
  list->erase(std::remove_if(list->begin(), list->end(), predicate), list->end());
}

}  // namespace

std::vector<std::string> TextsOf(const LeaseTable::Step& step) {
  std::vector<std::string> texts;
  for (const LeaseTable::Finished& done : step) texts.push_back(TextOf(done));
  return texts;
}

std::string StateOf(const LeaseTable& table) {
  std::string state;
  for (const auto& [key, lease] : table.all()) {
    absl::StrAppend(&state, key.name, ": ");
    if (lease.holder) {
      const LeaseTable::Request& request = lease.holder->request;
      absl::StrAppend(&state, request.member, request.id, "@", lease.holder->token);
    }
    if (lease.result)
      absl::StrAppend(&state, "done ", lease.result->token, " ", *lease.result->value);
    for (const auto& [ticket, waiting] : lease.queue) absl::StrAppend(&state, " <", waiting.waiter);
    absl::StrAppend(&state, "\n");
  }
  return state;
}

NaiveLeases::Lease* NaiveLeases::Find(const std::string& name) {
  for (Lease& lease : leases_) {
    if (lease.name == name) return &lease;
  }
  return nullptr;
}

NaiveLeases::Lease* NaiveLeases::FindOrAdd(const std::string& name) {
  if (Lease* lease = Find(name)) return lease;
  leases_.emplace_back();
  leases_.back().name = name;
  return &leases_.back();
}

void NaiveLeases::Sweep() {
  EraseIf(&leases_, [](const Lease& l) { return !l.holder && !l.result && l.queue.empty(); });
}

uint32_t NaiveLeases::CountOf(const Incarnation& member) const {
  uint32_t count = 0;
  for (const Lease& lease : leases_) {
    count += lease.holder && lease.holder->member == member;
    for (const auto& waiting : lease.queue) count += waiting.request.member == member;
  }
  return count;
}

uint64_t NaiveLeases::ResultBytes() const {
  uint64_t bytes = 0;
  for (const Lease& lease : leases_) bytes += lease.result ? lease.result->size() : 0;
  return bytes;
}

NaiveLeases::Lease* NaiveLeases::FirstToGo(bool by_bytes) {
  std::map<Incarnation, uint64_t> taken;
  for (const Lease& lease : leases_) {
    if (lease.result) taken[lease.publisher] += by_bytes ? lease.result->size() : 1;
  }
  std::pair<uint64_t, Incarnation> most;
  for (const auto& [publisher, amount] : taken) most = std::max(most, {amount, publisher});
  Lease* first = nullptr;
  for (Lease& lease : leases_) {
    if (!lease.result || lease.publisher != most.second) continue;
    if (first == nullptr || lease.used < first->used) first = &lease;
  }
  return first;
}

void NaiveLeases::ForgetResult(Lease* lease) {
  forgotten_.push_back(lease->token);
  budget_->Release(lease->result->size());
  lease->result.reset();
  Sweep();
}

bool NaiveLeases::MakeRoomForName(const std::string& name) {
  if (Find(name) != nullptr || leases_.size() < limits_.max_leases) return true;
  Lease* first = FirstToGo(false);
  if (first == nullptr) return false;
  ForgetResult(first);
  return true;
}

bool NaiveLeases::MakeRoomForBytes(uint64_t bytes) {
  if (bytes > budget_->room() + ResultBytes()) return false;
  while (bytes > budget_->room() || ResultBytes() + bytes > limits_.max_held_bytes / 2) {
    Lease* first = FirstToGo(true);
    if (first == nullptr) break;
    ForgetResult(first);
  }
  return budget_->Reserve(bytes).ok();
}

NaiveLeases::Answers NaiveLeases::Acquire(const std::string& name,
                                          const LeaseTable::Request& request, uint64_t attempt,
                                          WaiterId waiter) {
  if (std::count(abandoned_.begin(), abandoned_.end(), request) > 0) {
    return {AnswerText(waiter, "CANCELLED")};
  }
  if (Lease* lease = Find(name)) {
    if (lease->result) {
      lease->used = ++newest_;
      return {Done(waiter, lease->token, *lease->result)};
    }
    if (lease->holder && *lease->holder == request) return {Granted(waiter, lease->token)};
    for (LeaseTable::Waiting& waiting : lease->queue) {
      if (!(waiting.request == request)) continue;
      if (attempt < waiting.attempt) return {AnswerText(waiter, "CANCELLED")};
      waiting.attempt = attempt;
      return {AnswerText(std::exchange(waiting.waiter, waiter), "CANCELLED")};
    }
  }
  const bool room = CountOf(request.member) < limits_.max_leases_per_member;
  if (!room || !MakeRoomForName(name)) return {AnswerText(waiter, "RESOURCE_EXHAUSTED")};
  FindOrAdd(name)->queue.push_back({request, waiter, attempt});
  return {};
}

NaiveLeases::Answers NaiveLeases::GrantAll() {
  std::vector<std::string> names;
  for (const Lease& lease : leases_) names.push_back(lease.name);
  std::sort(names.begin(), names.end());
  Answers answers;
  for (const std::string& name : names) {
    Lease* lease = Find(name);
    if (lease->holder || lease->result) continue;
    const LeaseTable::Waiting next = lease->queue.front();
    lease->queue.erase(lease->queue.begin());
    lease->holder = next.request;
    lease->token = highest_token_ = ((highest_token_ >> 10) + 1) << 10;
    answers.push_back(Granted(next.waiter, lease->token));
  }
  return answers;
}

NaiveLeases::Answers NaiveLeases::Publish(Lease* lease, uint64_t token, const std::string& value) {
  lease->holder.reset();
  lease->token = token;
  lease->result = value;
  Answers answers;
  for (const auto& waiting : std::exchange(lease->queue, {})) {
    answers.push_back(Done(waiting.waiter, token, value));
  }
  return answers;
}

NaiveLeases::Answers NaiveLeases::Complete(const std::string& name, const Incarnation& member,
                                           uint64_t token, const std::string& value,
                                           std::string* outcome) {
  *outcome = "OK";
  Lease* lease = Find(name);
  const bool current =
      lease != nullptr && lease->holder && lease->holder->member == member && lease->token == token;
  if (!current) {
    const bool done = lease != nullptr && lease->result && lease->token == token;
    const bool known = done || std::count(forgotten_.begin(), forgotten_.end(), token) > 0;
    if (!known) *outcome = "FAILED_PRECONDITION";
    return {};
  }
  if (!MakeRoomForBytes(value.size())) {
    *outcome = "RESOURCE_EXHAUSTED";
    return {};
  }
  lease = Find(name);
  lease->publisher = member;
  lease->used = ++newest_;
  return Publish(lease, token, value);
}

NaiveLeases::Answers NaiveLeases::Abandon(const std::string& name,
                                          const LeaseTable::Request& request) {
  abandoned_.push_back(request);
  Lease* lease = Find(name);
  if (lease == nullptr) return {};
  if (lease->holder && *lease->holder == request) lease->holder.reset();
  Answers answers;
  for (const auto& waiting : lease->queue) {
    if (waiting.request == request) answers.push_back(AnswerText(waiting.waiter, "CANCELLED"));
  }
  Withdraw(name, request);
  return answers;
}

void NaiveLeases::Withdraw(const std::string& name, const LeaseTable::Request& request) {
  if (Lease* lease = Find(name)) {
    EraseIf(&lease->queue, [&](const auto& waiting) { return waiting.request == request; });
  }
  Sweep();
}

bool NaiveLeases::AdoptHolder(const std::string& name, const LeaseTable::Request& request,
                              uint64_t token) {
  highest_token_ = std::max(highest_token_, token);
  Lease* lease = Find(name);
  if (lease != nullptr && (lease->holder || lease->result) && lease->token >= token) {
    const bool same = lease->token == token && (lease->result || *lease->holder == request);
    return same || std::count(forgotten_.begin(), forgotten_.end(), token) > 0;
  }
  if (CountOf(request.member) >= limits_.max_leases_per_member) return false;
  if (!MakeRoomForName(name)) return false;
  lease = FindOrAdd(name);
  if (lease->result) budget_->Release(lease->result->size());
  lease->result.reset();
  lease->holder = request;
  lease->token = token;
  return true;
}

NaiveLeases::Answers NaiveLeases::AdoptResult(const std::string& name, const Incarnation& claimant,
                                              uint64_t token, const std::string& value,
                                              std::string* outcome) {
  *outcome = "OK";
  highest_token_ = std::max(highest_token_, token);
  for (const uint64_t forgotten : forgotten_) {
    if (token <= forgotten) return {};
  }
  Lease* lease = Find(name);
  if (lease != nullptr && lease->result && lease->token >= token) return {};
  if (lease != nullptr && lease->holder && lease->token > token) return {};
  const bool name_fits = lease != nullptr || leases_.size() < limits_.max_leases;
  const bool bytes_fit = ResultBytes() + value.size() <= limits_.max_held_bytes / 2;
  if (!name_fits || !bytes_fit || !budget_->Reserve(value.size()).ok()) {
    *outcome = "RESOURCE_EXHAUSTED";
    return {};
  }
  lease = FindOrAdd(name);
  if (lease->result) budget_->Release(lease->result->size());
  lease->publisher = claimant;
  lease->used = --oldest_;
  return Publish(lease, token, value);
}

void NaiveLeases::KeepOnly(const Incarnation& member, const std::vector<uint64_t>& tokens) {
  for (Lease& lease : leases_) {
    if (!lease.holder || lease.holder->member != member) continue;
    if (std::count(tokens.begin(), tokens.end(), lease.token) == 0) lease.holder.reset();
  }
  Sweep();
}

void NaiveLeases::Forget(const Incarnation& member) {
  KeepOnly(member, {});
  const auto of_member = [&](const auto& waiting) { return waiting.request.member == member; };
  for (Lease& lease : leases_) EraseIf(&lease.queue, of_member);
  EraseIf(&abandoned_, [&](const auto& request) { return request.member == member; });
  Sweep();
}

std::string NaiveLeases::State() const {
  std::map<std::string, std::string> lines;
  for (const Lease& lease : leases_) {
    std::string& line = lines[lease.name];
    if (lease.holder) line = absl::StrCat(lease.holder->member, lease.holder->id, "@", lease.token);
    if (lease.result) line = absl::StrCat("done ", lease.token, " ", *lease.result);
    for (const auto& waiting : lease.queue) absl::StrAppend(&line, " <", waiting.waiter);
  }
  std::string state;
  for (const auto& [name, line] : lines) absl::StrAppend(&state, name, ": ", line, "\n");
  return state;
}

}  // namespace muster::core
