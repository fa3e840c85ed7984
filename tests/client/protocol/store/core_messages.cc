#include "tests/client/protocol/store/core_messages.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "common/rpc/overloaded.h"

namespace muster {
namespace {

core::Bytes Shared(const std::string& bytes) { return std::make_shared<const std::string>(bytes); }

core::StoreOpen CoreOf(const v1::StoreOpen& open) {
  core::StoreOpen out;
  out.job_id = open.job_id();
  out.incarnation = open.incarnation();
  out.protocol_version = open.protocol_version();
  if (open.has_rank()) out.rank = open.rank();
  out.node = open.node();
  out.launcher = open.launcher();
  out.attempt = open.attempt();
  out.was_served = open.was_served();
  out.highest_revision = open.highest_revision();
  out.next_operation = open.next_operation();
  out.unanswered.assign(open.unanswered().begin(), open.unanswered().end());
  return out;
}

core::StoreClaim CoreOf(const v1::StoreClaim& claim) {
  core::StoreClaim out;
  out.joined.assign(claim.joined().begin(), claim.joined().end());
  out.lost.assign(claim.lost().begin(), claim.lost().end());
  for (const v1::ClaimedStoreEntry& entry : claim.entries()) {
    out.entries.push_back({entry.key(), {entry.revision(), entry.daemon_instance()}});
  }
  out.last = claim.last();
  return out;
}

core::StoreArrivals CoreOf(const v1::StoreArrivals& arrivals) {
  return {arrivals.count(), arrivals.arrived(), arrivals.complete_at()};
}

core::StoreEntry CoreOf(const v1::StoreEntry& entry) {
  core::StoreEntry out;
  switch (entry.kind_case()) {
    case v1::StoreEntry::kValue:
      out.content = Shared(entry.value());
      break;
    case v1::StoreEntry::kQueue: {
      core::StoreQueue queue;
      for (const std::string& element : entry.queue().elements()) {
        queue.elements.push_back(Shared(element));
      }
      out.content = std::move(queue);
      break;
    }
    case v1::StoreEntry::kArrivals:
      out.content = CoreOf(entry.arrivals());
      break;
    default:
      out.content = core::StoreTombstone();
  }
  for (const v1::StoreResult& result : entry.results()) {
    core::StoreResult& into = out.results[{result.client(), result.operation()}];
    into.revision = result.revision();
    if (result.has_number()) into.number = result.number();
    if (result.has_value()) into.value = Shared(result.value());
    into.complete_at = result.complete_at();
  }
  return out;
}

core::StoreEntries CoreOf(const v1::StoreEntries& entries) {
  core::StoreEntries out;
  for (const v1::FetchedStoreEntry& entry : entries.entries()) {
    out.entries.push_back(
        {entry.key(), {entry.revision(), entry.daemon_instance()}, CoreOf(entry.entry())});
  }
  return out;
}

decltype(core::StoreOperation::what) WhatOf(const v1::StoreOperation& operation) {
  using v1::StoreOperation;
  switch (operation.operation_case()) {
    case StoreOperation::kSet:
      return core::StoreSet{operation.set().key(), Shared(operation.set().value())};
    case StoreOperation::kGet:
      return core::StoreGet{operation.get().key()};
    case StoreOperation::kWait:
      return core::StoreWait{{operation.wait().keys().begin(), operation.wait().keys().end()}};
    case StoreOperation::kAdd:
      return core::StoreAdd{operation.add().key(), operation.add().amount()};
    case StoreOperation::kCompareAndSet: {
      core::StoreCompareAndSet out{
          operation.compare_and_set().key(), {}, Shared(operation.compare_and_set().value())};
      if (operation.compare_and_set().has_expected()) {
        out.expected = operation.compare_and_set().expected();
      }
      return out;
    }
    case StoreOperation::kAppend:
      return core::StoreAppend{operation.append().key(), Shared(operation.append().value())};
    case StoreOperation::kDelete:
      return core::StoreDelete{operation.delete_().key()};
    case StoreOperation::kList:
      return core::StoreList{operation.list().prefix(), operation.list().after()};
    case StoreOperation::kCount:
      return core::StoreCount{operation.count().prefix()};
    case StoreOperation::kPush:
      return core::StorePush{operation.push().key(), Shared(operation.push().value())};
    case StoreOperation::kPop:
      return core::StorePop{operation.pop().key()};
    case StoreOperation::kQueueLength:
      return core::StoreQueueLength{operation.queue_length().key()};
    case StoreOperation::kBarrier:
      return core::StoreBarrier{operation.barrier().key(), operation.barrier().count()};
    default: {
      core::StoreWatch out{operation.watch().prefix(), {}};
      if (operation.watch().has_after_revision()) {
        out.after_revision = operation.watch().after_revision();
      }
      return out;
    }
  }
}

core::StoreOperation CoreOf(const v1::StoreOperation& operation) {
  core::StoreOperation out;
  out.id = operation.id();
  if (operation.has_wait_timeout()) {
    out.wait_timeout = absl::Seconds(operation.wait_timeout().seconds()) +
                       absl::Nanoseconds(operation.wait_timeout().nanos());
  }
  out.what = WhatOf(operation);
  return out;
}

void SetArrivals(const core::StoreArrivals& arrivals, v1::StoreArrivals* out) {
  out->set_count(arrivals.count);
  out->set_arrived(arrivals.arrived);
  out->set_complete_at(arrivals.complete_at);
}

void SetResult(const core::StoreOperationId& id, const core::StoreResult& result,
               v1::StoreResult* out) {
  out->set_client(id.client);
  out->set_operation(id.operation);
  out->set_revision(result.revision);
  if (result.number) out->set_number(*result.number);
  if (result.value != nullptr) out->set_value(*result.value);
  out->set_complete_at(result.complete_at);
}

void Set(const core::StoreOpened& opened, v1::StoreResponse* out) {
  out->mutable_opened()->set_daemon_instance(opened.daemon_instance);
  out->mutable_opened()->set_recovering(opened.recovering);
  out->mutable_opened()->set_max_key_bytes(8 << 10);
  out->mutable_opened()->set_max_value_bytes(8 << 20);
}

void Set(const core::StoreClients& clients, v1::StoreResponse* out) {
  for (const std::string& id : clients.joined) out->mutable_clients()->add_joined(id);
  for (const std::string& id : clients.lost) out->mutable_clients()->add_lost(id);
  out->mutable_clients();
}

void Set(const core::StoreAnswer& answer, v1::StoreResponse* response) {
  v1::StoreAnswer& out = *response->mutable_answer();
  out.set_operation(answer.operation);
  out.set_revision(answer.revision);
  if (!answer.error.ok()) {
    out.mutable_error()->set_code(static_cast<uint32_t>(answer.error.code()));
    out.mutable_error()->set_message(std::string(answer.error.message()));
  }
  out.set_changed(answer.changed);
  if (answer.number) out.set_number(*answer.number);
  if (answer.value != nullptr) out.set_value(*answer.value);
  for (const std::string& key : answer.keys) out.add_keys(key);
  out.set_more(answer.more);
}

void SetChange(const core::StoreChange& change, v1::StoreChange* out) {
  out->set_base_revision(change.base_revision);
  std::visit(
      Overloaded{
          [&](const core::StoreChange::Appended& what) { out->set_appended(*what.bytes); },
          [&](const core::StoreChange::Pushed& what) { out->set_pushed(*what.element); },
          [&](const core::StoreChange::Popped&) { out->set_popped(true); },
          [&](const core::StoreArrivals& what) { SetArrivals(what, out->mutable_arrivals()); },
      },
      change.what);
  SetResult(change.operation, change.result, out->mutable_result());
  for (const core::StoreOperationId& id : change.acknowledged) {
    v1::StoreResult& acknowledged = *out->add_acknowledged();
    acknowledged.set_client(id.client);
    acknowledged.set_operation(id.operation);
  }
}

void Set(const core::StoreHold& hold, v1::StoreResponse* response) {
  v1::StoreHold& out = *response->mutable_hold();
  out.set_key(hold.key);
  out.set_revision(hold.version.revision);
  out.set_daemon_instance(hold.version.daemon_instance);
  out.set_value_of_operation(hold.value_of_operation);
  if (const auto* change = std::get_if<std::shared_ptr<const core::StoreChange>>(&hold.content)) {
    SetChange(**change, out.mutable_change());
    return;
  }
  *out.mutable_entry() = WireEntryOf(*std::get<0>(hold.content));
  if (hold.value_of_operation != 0) out.mutable_entry()->clear_value();
}

void Set(const core::StoreDrop& drop, v1::StoreResponse* out) {
  out->mutable_drop()->set_key(drop.key);
  out->mutable_drop()->set_revision(drop.revision);
}

void Set(const core::StoreFetch& fetch, v1::StoreResponse* out) {
  for (const std::string& key : fetch.keys) out->mutable_fetch()->add_keys(key);
}

void Set(const core::StoreWatchEvent& event, v1::StoreResponse* response) {
  v1::StoreWatchEvent& out = *response->mutable_event();
  out.set_watch(event.watch);
  out.set_key(event.key);
  out.set_revision(event.revision);
  std::visit(Overloaded{
                 [&](const core::StoreTombstone&) { out.set_deleted(true); },
                 [&](const core::Bytes& value) { out.set_value(*value); },
                 [&](const core::StoreWatchEvent::Elements& n) { out.set_elements(n.number); },
                 [&](const core::StoreWatchEvent::Arrivals& n) { out.set_arrivals(n.number); },
             },
             event.state);
}

void Set(const core::StoreWatchSynced& synced, v1::StoreResponse* response) {
  v1::StoreWatchSynced& out = *response->mutable_synced();
  out.set_watch(synced.watch);
  out.set_revision(synced.revision);
  for (const std::string& key : synced.keys) out.add_keys(key);
  out.set_more(synced.more);
}

}  // namespace

core::StoreRequest CoreRequestOf(const v1::StoreRequest& request) {
  switch (request.message_case()) {
    case v1::StoreRequest::kOpen:
      return {CoreOf(request.open())};
    case v1::StoreRequest::kClaim:
      return {CoreOf(request.claim())};
    case v1::StoreRequest::kOperation:
      return {CoreOf(request.operation())};
    case v1::StoreRequest::kCancel:
      return {core::StoreCancel{request.cancel().operation()}};
    case v1::StoreRequest::kConfirm:
      return {core::StoreConfirm{request.confirm().processed()}};
    default:
      return {CoreOf(request.entries())};
  }
}

v1::StoreEntry WireEntryOf(const core::StoreEntry& entry) {
  v1::StoreEntry out;
  std::visit(Overloaded{
                 [&](const core::StoreTombstone&) { out.set_deleted(true); },
                 [&](const core::Bytes& value) { out.set_value(*value); },
                 [&](const core::StoreQueue& queue) {
                   out.mutable_queue();
                   for (const core::Bytes& element : queue.elements) {
                     out.mutable_queue()->add_elements(*element);
                   }
                 },
                 [&](const core::StoreArrivals& arrivals) {
                   SetArrivals(arrivals, out.mutable_arrivals());
                 },
             },
             entry.content);
  for (const auto& [id, result] : entry.results) SetResult(id, result, out.add_results());
  return out;
}

v1::StoreResponse WireResponseOf(const core::StoreResponse& response) {
  v1::StoreResponse out;
  std::visit([&](const auto& message) { Set(message, &out); }, response);
  return out;
}

}  // namespace muster
