#include "server/service/conversion/store_response_conversion.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/rpc/overloaded.h"
#include "google/protobuf/io/coded_stream.h"

namespace muster::service {
namespace {

// The bytes of a queued message beside its values and keys.
constexpr uint64_t kMessageBytes = 256;
// The bytes of a result or a name in a list.
constexpr uint64_t kItemBytes = 64;

// Encodes byte fields of a nested message. `path` has the field numbers that lead to the message,
// all of them below 16.
MessageChunks Nested(const std::vector<int>& path, int field,
                     const std::vector<core::Bytes>& contents) {
  size_t size = 0;
  for (const core::Bytes& content : contents) {
    size += MessageChunkWriter::SizeOfBytes(field, content);
  }
  std::vector<size_t> sizes(path.size());
  for (size_t i = path.size(); i-- > 0;) {
    sizes[i] = size;
    size += 1 + google::protobuf::io::CodedOutputStream::VarintSize64(size);
  }
  MessageChunkWriter out;
  for (size_t i = 0; i < path.size(); ++i) out.OpenMessage(path[i], sizes[i]);
  for (const core::Bytes& content : contents) out.AddBytes(field, content);
  return std::move(out).Take();
}

// ---- Without values and elements ----

void Fill(const core::StoreArrivals& in, v1::StoreArrivals* out) {
  out->set_count(in.count);
  out->set_arrived(in.arrived);
  out->set_complete_at(in.complete_at);
}

void Fill(const core::StoreOperationId& id, v1::StoreResult* out) {
  out->set_client(id.client);
  out->set_operation(id.operation);
}

void Fill(const core::StoreOperationId& id, const core::StoreResult& in, v1::StoreResult* out) {
  Fill(id, out);
  out->set_revision(in.revision);
  if (in.number) out->set_number(*in.number);
  if (in.value != nullptr) out->set_value(*in.value);
  out->set_complete_at(in.complete_at);
}

void Fill(const core::StoreEntry& in, v1::StoreEntry* out) {
  std::visit(
      Overloaded{
          [&](const core::StoreTombstone&) { out->set_deleted(true); },
          [](const core::Bytes&) {},
          [&](const core::StoreQueue&) { out->mutable_queue(); },
          [&](const core::StoreArrivals& arrivals) { Fill(arrivals, out->mutable_arrivals()); },
      },
      in.content);
  for (const auto& [id, result] : in.results) Fill(id, result, out->add_results());
}

void Fill(const core::StoreChange& in, v1::StoreChange* out) {
  out->set_base_revision(in.base_revision);
  std::visit(
      Overloaded{
          [](const core::StoreChange::Appended&) {},
          [](const core::StoreChange::Pushed&) {},
          [&](const core::StoreChange::Popped&) { out->set_popped(true); },
          [&](const core::StoreArrivals& arrivals) { Fill(arrivals, out->mutable_arrivals()); },
      },
      in.what);
  Fill(in.operation, in.result, out->mutable_result());
  for (const core::StoreOperationId& id : in.acknowledged) Fill(id, out->add_acknowledged());
}

void Fill(const core::StoreOpened& in, const core::StoreOptions& options, v1::StoreResponse* out) {
  v1::StoreOpened* const opened = out->mutable_opened();
  opened->set_daemon_instance(in.daemon_instance);
  opened->set_recovering(in.recovering);
  opened->set_max_key_bytes(options.max_key_bytes);
  opened->set_max_value_bytes(options.max_value_bytes);
}

void Fill(const core::StoreClients& in, v1::StoreResponse* out) {
  v1::StoreClients* const clients = out->mutable_clients();
  for (const core::Incarnation& id : in.joined) clients->add_joined(id);
  for (const core::Incarnation& id : in.lost) clients->add_lost(id);
}

void Fill(const core::StoreAnswer& in, v1::StoreResponse* out) {
  v1::StoreAnswer* const answer = out->mutable_answer();
  answer->set_operation(in.operation);
  answer->set_revision(in.revision);
  if (!in.error.ok()) {
    answer->mutable_error()->set_code(static_cast<uint32_t>(in.error.code()));
    answer->mutable_error()->set_message(std::string(in.error.message()));
  }
  answer->set_changed(in.changed);
  if (in.number) answer->set_number(*in.number);
  for (const std::string& key : in.keys) answer->add_keys(key);
  answer->set_more(in.more);
}

void Fill(const core::StoreHold& in, v1::StoreResponse* out) {
  v1::StoreHold* const hold = out->mutable_hold();
  hold->set_key(in.key);
  hold->set_revision(in.version.revision);
  hold->set_daemon_instance(in.version.daemon_instance);
  hold->set_value_of_operation(in.value_of_operation);
  if (const auto* change = std::get_if<std::shared_ptr<const core::StoreChange>>(&in.content)) {
    return Fill(**change, hold->mutable_change());
  }
  Fill(*std::get<0>(in.content), hold->mutable_entry());
  if (in.value_of_operation != 0) hold->mutable_entry()->set_value("");
}

void Fill(const core::StoreWatchEvent& in, v1::StoreResponse* out) {
  v1::StoreWatchEvent* const event = out->mutable_event();
  event->set_watch(in.watch);
  event->set_key(in.key);
  event->set_revision(in.revision);
  std::visit(Overloaded{
                 [&](const core::StoreTombstone&) { event->set_deleted(true); },
                 [](const core::Bytes&) {},
                 [&](const core::StoreWatchEvent::Elements& elements) {
                   event->set_elements(elements.number);
                 },
                 [&](const core::StoreWatchEvent::Arrivals& arrivals) {
                   event->set_arrivals(arrivals.number);
                 },
             },
             in.state);
}

void Fill(const core::StoreWatchSynced& in, v1::StoreResponse* out) {
  v1::StoreWatchSynced* const synced = out->mutable_synced();
  synced->set_watch(in.watch);
  synced->set_revision(in.revision);
  for (const std::string& key : in.keys) synced->add_keys(key);
  synced->set_more(in.more);
}

// ---- Values and elements ----

MessageChunks ValuesOfEntry(const core::StoreEntry& entry) {
  const int hold = v1::StoreResponse::kHoldFieldNumber;
  if (const auto* value = std::get_if<core::Bytes>(&entry.content)) {
    return Nested({hold, v1::StoreHold::kEntryFieldNumber}, v1::StoreEntry::kValueFieldNumber,
                  {*value});
  }
  const auto* const queue = std::get_if<core::StoreQueue>(&entry.content);
  if (queue == nullptr) return {};
  return Nested({hold, v1::StoreHold::kEntryFieldNumber, v1::StoreEntry::kQueueFieldNumber},
                v1::StoreQueue::kElementsFieldNumber,
                {queue->elements.begin(), queue->elements.end()});
}

MessageChunks ValuesOfChange(const core::StoreChange& change) {
  const std::vector<int> path = {v1::StoreResponse::kHoldFieldNumber,
                                 v1::StoreHold::kChangeFieldNumber};
  if (const auto* appended = std::get_if<core::StoreChange::Appended>(&change.what)) {
    return Nested(path, v1::StoreChange::kAppendedFieldNumber, {appended->bytes});
  }
  const auto* const pushed = std::get_if<core::StoreChange::Pushed>(&change.what);
  if (pushed == nullptr) return {};
  return Nested(path, v1::StoreChange::kPushedFieldNumber, {pushed->element});
}

// ---- Sizes ----

template <typename Strings>
uint64_t SizeOfAll(const Strings& strings) {
  uint64_t bytes = 0;
  for (const std::string& text : strings) bytes += kItemBytes + text.size();
  return bytes;
}

uint64_t SizeOf(const core::Bytes& bytes) { return bytes == nullptr ? 0 : bytes->size(); }

uint64_t SizeOf(const core::StoreEntry& entry) {
  uint64_t bytes = kItemBytes * entry.results.size();
  for (const auto& [id, result] : entry.results) bytes += SizeOf(result.value);
  if (const auto* value = std::get_if<core::Bytes>(&entry.content)) return bytes + SizeOf(*value);
  const auto* const queue = std::get_if<core::StoreQueue>(&entry.content);
  if (queue == nullptr) return bytes;
  for (const core::Bytes& element : queue->elements) bytes += kItemBytes + SizeOf(element);
  return bytes;
}

uint64_t SizeOf(const core::StoreChange& change) {
  uint64_t bytes = kItemBytes * change.acknowledged.size() + SizeOf(change.result.value);
  if (const auto* appended = std::get_if<core::StoreChange::Appended>(&change.what)) {
    bytes += SizeOf(appended->bytes);
  } else if (const auto* pushed = std::get_if<core::StoreChange::Pushed>(&change.what)) {
    bytes += SizeOf(pushed->element);
  }
  return bytes;
}

}  // namespace

v1::StoreResponse ToProto(const core::StoreResponse& message, const core::StoreOptions& options) {
  v1::StoreResponse out;
  std::visit(Overloaded{
                 [&](const core::StoreOpened& opened) { Fill(opened, options, &out); },
                 [&](const core::StoreDrop& drop) {
                   out.mutable_drop()->set_key(drop.key);
                   out.mutable_drop()->set_revision(drop.revision);
                 },
                 [&](const core::StoreFetch& fetch) {
                   for (const std::string& key : fetch.keys) out.mutable_fetch()->add_keys(key);
                 },
                 [&](const auto& other) { Fill(other, &out); },
             },
             message);
  return out;
}

MessageChunks ValuesOf(const core::StoreResponse& message) {
  if (const auto* answer = std::get_if<core::StoreAnswer>(&message)) {
    if (answer->value == nullptr) return {};
    return Nested({v1::StoreResponse::kAnswerFieldNumber}, v1::StoreAnswer::kValueFieldNumber,
                  {answer->value});
  }
  if (const auto* event = std::get_if<core::StoreWatchEvent>(&message)) {
    const auto* const value = std::get_if<core::Bytes>(&event->state);
    if (value == nullptr) return {};
    return Nested({v1::StoreResponse::kEventFieldNumber}, v1::StoreWatchEvent::kValueFieldNumber,
                  {*value});
  }
  const auto* const hold = std::get_if<core::StoreHold>(&message);
  if (hold == nullptr || hold->value_of_operation != 0) return {};
  if (const auto* change = std::get_if<std::shared_ptr<const core::StoreChange>>(&hold->content)) {
    return ValuesOfChange(**change);
  }
  return ValuesOfEntry(*std::get<0>(hold->content));
}

std::optional<v1::StoreResponse> WholeResponse(const core::StoreResponse& message,
                                               const core::StoreOptions& options) {
  std::string encoded;
  for (const core::Bytes& chunk : ValuesOf(message)) encoded += *chunk;
  ToProto(message, options).AppendToString(&encoded);
  v1::StoreResponse whole;
  if (!whole.ParseFromString(encoded)) return std::nullopt;
  return whole;
}

uint64_t SizeOf(const core::StoreResponse& message) {
  const uint64_t content = std::visit(
      Overloaded{
          [](const core::StoreClients& clients) {
            return SizeOfAll(clients.joined) + SizeOfAll(clients.lost);
          },
          [](const core::StoreAnswer& answer) {
            return SizeOf(answer.value) + SizeOfAll(answer.keys);
          },
          [](const core::StoreHold& hold) {
            return hold.key.size() +
                   std::visit([](const auto& what) { return SizeOf(*what); }, hold.content);
          },
          [](const core::StoreDrop& drop) { return uint64_t{drop.key.size()}; },
          [](const core::StoreFetch& fetch) { return SizeOfAll(fetch.keys); },
          [](const core::StoreWatchEvent& event) {
            const auto* const value = std::get_if<core::Bytes>(&event.state);
            return event.key.size() + (value == nullptr ? 0 : SizeOf(*value));
          },
          [](const core::StoreWatchSynced& synced) { return SizeOfAll(synced.keys); },
          [](const core::StoreOpened&) { return uint64_t{0}; },
      },
      message);
  return kMessageBytes + content;
}

}  // namespace muster::service
