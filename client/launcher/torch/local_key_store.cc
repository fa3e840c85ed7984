#include "client/launcher/torch/local_key_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/protocol/store/messages/store_calls.h"

namespace muster::launcher::torch {
namespace {

// Room for the decimal digits of a number.
constexpr size_t kNumberBytes = 20;

size_t AddedBytes(const v1::StoreOperation& operation) {
  const std::string* const value = internal::ValueOf(operation);
  return value == nullptr ? kNumberBytes : value->size();
}

}  // namespace

void LocalKeyStore::Begin(uint64_t id, v1::StoreOperation operation) {
  if (absl::Status room = CheckRoom(operation); !room.ok()) {
    ended_.push_back({id, std::move(room)});
    return;
  }
  const bool waits = !operation.has_wait_timeout() || operation.wait_timeout().seconds() > 0 ||
                     operation.wait_timeout().nanos() > 0;
  Call call;
  call.operation = std::move(operation);
  call.number = id;
  if (Run(id, &call)) return;
  if (waits) {
    Park(id, std::move(call));
    return;
  }
  if (call.operation.has_pop()) entries_.Forget(call);
  ended_.push_back({id, absl::DeadlineExceededError(entries_.DescribeMissing(call))});
}

void LocalKeyStore::Cancel(uint64_t id) {
  const auto waiting = waiting_.find(id);
  if (waiting == waiting_.end()) return;
  const Call call = Unpark(waiting);
  if (call.operation.has_pop()) entries_.Forget(call);
  ended_.push_back({id, absl::CancelledError("the operation was given up")});
}

std::vector<KeyStore::Ended> LocalKeyStore::TakeEnded() { return std::exchange(ended_, {}); }

absl::Status LocalKeyStore::CheckRoom(const v1::StoreOperation& operation) const {
  if (!internal::MayChange(operation)) return absl::OkStatus();
  const std::string& key = internal::KeyOf(operation);
  if (sizes_.size() >= kMaxKeys && sizes_.count(key) == 0 && !operation.has_pop()) {
    return absl::ResourceExhaustedError(absl::StrCat("key ", internal::QuoteKey(key),
                                                     " is one too many: the store has ", kMaxKeys));
  }
  if (bytes_ + key.size() + AddedBytes(operation) <= kMaxBytes) return absl::OkStatus();
  if (operation.has_pop() || operation.has_delete_()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("there is no room for key ",
                                                   internal::QuoteKey(key), ": the store has ",
                                                   bytes_, " bytes, and the limit is ", kMaxBytes));
}

void LocalKeyStore::Count(const v1::StoreOperation& operation, const v1::StoreAnswer& answer) {
  const std::string& key = internal::KeyOf(operation);
  const auto found = sizes_.find(key);
  const size_t before = found == sizes_.end() ? 0 : found->second;
  size_t after = before == 0 ? key.size() : before;
  if (operation.has_delete_()) {
    after = 0;
  } else if (operation.has_append() || operation.has_push()) {
    after += AddedBytes(operation);
  } else if (operation.has_pop()) {
    after -= answer.value().size();
  } else {
    after = key.size() + AddedBytes(operation);
  }
  bytes_ = bytes_ - before + after;
  if (after == 0) {
    sizes_.erase(key);
  } else {
    sizes_[key] = after;
  }
}

bool LocalKeyStore::Run(uint64_t id, Call* call) {
  std::optional<absl::StatusOr<v1::StoreAnswer>> answer = entries_.Run(call);
  const std::optional<std::string> changed = entries_.changed();
  if (changed && answer && answer->ok()) Count(call->operation, **answer);
  const bool ended = answer.has_value();
  if (ended) ended_.push_back({id, *std::move(answer)});
  if (changed) RunWaiting(*changed);
  return ended;
}

void LocalKeyStore::Park(uint64_t id, Call call) {
  if (call.operation.has_wait()) {
    waiting_for_several_.insert(id);
  } else {
    waiting_for_[internal::KeyOf(call.operation)].insert(id);
  }
  waiting_.emplace(id, std::move(call));
}

LocalKeyStore::Call LocalKeyStore::Unpark(std::map<uint64_t, Call>::iterator waiting) {
  const uint64_t id = waiting->first;
  Call call = std::move(waiting->second);
  waiting_.erase(waiting);
  if (waiting_for_several_.erase(id) > 0) return call;
  const auto found = waiting_for_.find(internal::KeyOf(call.operation));
  found->second.erase(id);
  if (found->second.empty()) waiting_for_.erase(found);
  return call;
}

void LocalKeyStore::RunWaiting(const std::string& key) {
  std::set<uint64_t> ids = waiting_for_several_;  // by age
  if (const auto found = waiting_for_.find(key); found != waiting_for_.end()) {
    ids.insert(found->second.begin(), found->second.end());
  }
  for (const uint64_t id : ids) {
    const auto waiting = waiting_.find(id);
    if (waiting == waiting_.end()) continue;  // ended by a change that an earlier one of them made
    Call call = Unpark(waiting);
    if (!Run(id, &call)) Park(id, std::move(call));
  }
}

}  // namespace muster::launcher::torch
