#include "server/core/store/operations.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"
#include "server/core/store/content.h"

namespace muster::core::store {

namespace {

// Returns the bytes that an operation carries.
uint64_t SizeOf(const StoreOperation& operation) {
  return std::visit(
      Overloaded{
          [](const StoreSet& set) { return set.key.size() + set.value->size(); },
          [](const StoreAppend& append) { return append.key.size() + append.value->size(); },
          [](const StorePush& push) { return push.key.size() + push.value->size(); },
          [](const StoreCompareAndSet& change) {
            return change.key.size() + change.value->size() +
                   (change.expected ? change.expected->size() : 0);
          },
          [](const StoreWait& wait) {
            size_t bytes = 0;
            for (const std::string& key : wait.keys) bytes += key.size();
            return bytes;
          },
          [](const StoreList& list) { return list.prefix.size() + list.after.size(); },
          [](const StoreCount& count) { return count.prefix.size(); },
          [](const StoreWatch& watch) { return watch.prefix.size(); },
          [](const auto& of_one_key) { return of_one_key.key.size(); },
      },
      operation.what);
}

bool IsWatch(const StoreOperation& operation) {
  return std::holds_alternative<StoreWatch>(operation.what);
}

// Returns the bytes that an answer carries.
uint64_t SizeOf(const StoreAnswer& answer) {
  uint64_t bytes = answer.value == nullptr ? 0 : answer.value->size();
  for (const std::string& key : answer.keys) bytes += key.size();
  return bytes;
}

}  // namespace

absl::Status Operations::Receive(Client* client, const StoreOperation& request) {
  if (request.id == 0 || request.id <= client->latest_operation) {
    return absl::InvalidArgumentError(
        absl::StrCat("operation ", request.id, " comes after operation ", client->latest_operation,
                     " on one stream: ids must ascend"));
  }
  client->latest_operation = request.id;
  auto operation =
      std::make_unique<ParkedOperation>(client, ++serials_, request, context_.now, context_.budget);
  ParkedOperation* const parked = operation.get();
  parked->charge.Set(SizeOf(request));
  client->operations[request.id] = std::move(operation);
  by_serial_[parked->serial] = parked;
  const absl::Duration timeout =
      request.wait_timeout.value_or(context_.options.default_wait_timeout);
  parked->deadline = context_.now + timeout;
  parked->expired = timeout <= absl::ZeroDuration();
  if (MayServe(*client)) Serve(parked);
  return absl::OkStatus();
}

void Operations::Cancel(Client* client, const StoreCancel& cancel) {
  if (watches_.End(client, cancel.operation)) {
    context_.Send(client,
                  StoreAnswer{cancel.operation, 0, absl::CancelledError("the watch has ended")},
                  SentAnswer{cancel.operation});
    return;
  }
  const auto it = client->operations.find(cancel.operation);
  if (it == client->operations.end()) return;
  it->second->cancelled = true;
  GiveUp(it->second.get());
}

void Operations::ServeAll(Client* client) {
  std::vector<uint64_t> unserved;
  for (const auto& [id, operation] : client->operations) {
    if (!operation->served) unserved.push_back(id);
  }
  for (const uint64_t id : unserved) Serve(client->operations.at(id).get());
}

void Operations::RemoveAll(Client* client) {
  while (!client->operations.empty()) Remove(client->operations.begin()->second.get());
}

void Operations::Acknowledge(Client* client, uint64_t operation) {
  const auto it = client->recorded.find(operation);
  if (it == client->recorded.end()) return;
  Slot* const slot = it->second;
  client->recorded.erase(it);
  const StoreOperationId id{client->id, operation};
  const auto result = slot->entry->results.find(id);
  const auto bytes = static_cast<int64_t>(store::SizeOf(result->second));
  slot->entry->results.erase(result);
  slot->acknowledged.push_back(id);
  slots_.Grow(slot, -bytes);
  slots_.SetDue(slot);
}

void Operations::AcknowledgeClaimed(Client* client) {
  std::vector<uint64_t> acknowledged;
  for (const auto& [operation, slot] : client->recorded) {
    if (client->HasAcknowledged(operation)) acknowledged.push_back(operation);
  }
  for (const uint64_t operation : acknowledged) Acknowledge(client, operation);
}

void Operations::ForgetResults(Client* client) {
  while (!client->recorded.empty()) Acknowledge(client, client->recorded.begin()->first);
}

void Operations::AdoptResults(Slot* slot) {
  auto& results = slot->entry->results;
  int64_t freed = 0;
  for (auto it = results.begin(); it != results.end();) {
    Client* const client = context_.clients.Find(it->first.client);
    if (client != nullptr && !client->HasAcknowledged(it->first.operation)) {
      client->recorded[it->first.operation] = slot;
      ++it;
      continue;
    }
    freed += static_cast<int64_t>(store::SizeOf(it->second));
    slot->acknowledged.push_back(it->first);
    it = results.erase(it);
  }
  slots_.Grow(slot, -freed);
}

Outcome Operations::Look(ParkedOperation* operation) {
  Client* const client = operation->client;
  const auto recorded = client->recorded.find(operation->request.id);
  if (recorded != client->recorded.end()) return evaluator_.Repeat(*operation, recorded->second);
  if (operation->cancelled) {
    return Evaluator::Refuse(absl::CancelledError("the client has given the operation up"));
  }
  if (!operation->served && client->operations.size() > context_.options.max_operations) {
    return Evaluator::Refuse(absl::ResourceExhaustedError(absl::StrCat(
        client->operations.size(), " operations of ", client->Describe(), " wait; the limit is ",
        context_.options.max_operations, " (musterd --max-waiters-per-member raises it)")));
  }
  return evaluator_.Evaluate(*operation);
}

void Operations::Serve(ParkedOperation* operation) {
  if (IsWatch(operation->request)) {
    Client* const client = operation->client;
    const StoreOperation request = operation->request;
    const bool cancelled = operation->cancelled;
    Remove(operation);
    watches_.Begin(client, request.id, std::get<StoreWatch>(request.what));
    if (cancelled) Cancel(client, {request.id});
    return;
  }
  Outcome outcome = Look(operation);
  operation->served = true;
  Finish(operation, std::move(outcome));
}

void Operations::Finish(ParkedOperation* operation, Outcome outcome) {
  Client* const client = operation->client;
  if (outcome.changed != nullptr && outcome.changed->keeper == client &&
      !context_.options.answers_wait_for_copy) {
    placement_.SendHold(outcome.changed, client, outcome.sets_value ? operation->request.id : 0);
    outcome.depends_on.clear();
  }
  if (outcome.waits_for != nullptr) {
    if (outcome.waits_for != operation->waits_for) Unpark(operation);
    operation->waits_for = outcome.waits_for;
    outcome.waits_for->waiting[operation->serial] = operation;
    if (operation->cancelled || operation->expired) return GiveUp(operation);
    return deadlines_.Set(operation->serial, operation->deadline);
  }
  Unpark(operation);
  if (outcome.depends_on.empty()) return Answer(operation, std::move(outcome.answer));
  operation->answer = std::make_unique<StoreAnswer>(std::move(outcome.answer));
  operation->depends_on = std::move(outcome.depends_on);
  AwaitHolders(operation);
}

// An operation that is not served yet may be recorded in an entry, and one that has an answer has
// been done (K16).
void Operations::GiveUp(ParkedOperation* operation) {
  if (!operation->served || operation->answer != nullptr) return;
  if (operation->cancelled) {
    return Answer(operation, {0, 0, absl::CancelledError("the client has given the operation up")});
  }
  Answer(operation, {0, 0, Missed(*operation)});
}

absl::Status Operations::Missed(const ParkedOperation& operation) const {
  return absl::DeadlineExceededError(
      absl::StrCat(evaluator_.DescribeMissing(operation), " for ",
                   absl::FormatDuration(context_.now - operation.since)));
}

// Parks the operation at the entries whose holders have not confirmed the changes, or answers it.
void Operations::AwaitHolders(ParkedOperation* operation) {
  decltype(operation->depends_on) unsafe;
  for (const auto& [slot, revision] : operation->depends_on) {
    if (placement_.IsSafe(*slot, revision)) {
      slot->unsafe.erase(operation->serial);
      slots_.SetDue(slot);  // it may be of no use any more
    } else {
      slot->unsafe[operation->serial] = operation;
      unsafe.emplace_back(slot, revision);
    }
  }
  operation->depends_on = std::move(unsafe);
  if (operation->depends_on.empty()) Answer(operation, std::move(*operation->answer));
}

void Operations::Answer(ParkedOperation* operation, StoreAnswer answer) {
  Client* const client = operation->client;
  answer.operation = operation->request.id;
  Remove(operation);
  const uint64_t bytes = SizeOf(answer);
  const SentAnswer sent{answer.operation};
  context_.Send(client, std::move(answer), sent, bytes);
}

void Operations::Unpark(ParkedOperation* operation) {
  deadlines_.Clear(operation->serial);
  if (Slot* const slot = std::exchange(operation->waits_for, nullptr)) {
    slot->waiting.erase(operation->serial);
    slots_.SetDue(slot);
  }
}

void Operations::Remove(ParkedOperation* operation) {
  Unpark(operation);
  for (const auto& [slot, revision] : operation->depends_on) {
    slot->unsafe.erase(operation->serial);
    slots_.SetDue(slot);
  }
  by_serial_.erase(operation->serial);
  operation->client->operations.erase(operation->request.id);
}

void Operations::Wake(Slot* slot) {
  if (!std::exchange(slot->wakes, false)) return;
  std::vector<uint64_t> serials;
  for (const auto& [serial, operation] : slot->waiting) serials.push_back(serial);
  for (const uint64_t serial : serials) {
    const auto it = slot->waiting.find(serial);
    if (it != slot->waiting.end()) Serve(it->second);
  }
}

void Operations::Release(Slot* slot) {
  std::vector<ParkedOperation*> waiting;
  for (const auto& [serial, operation] : slot->unsafe) waiting.push_back(operation);
  for (ParkedOperation* const operation : waiting) AwaitHolders(operation);
}

void Operations::TimeOut() {
  while (const std::optional<uint64_t> serial = deadlines_.Pop(context_.now)) {
    ParkedOperation* const operation = by_serial_.at(*serial);
    operation->expired = true;
    GiveUp(operation);
  }
}

}  // namespace muster::core::store
