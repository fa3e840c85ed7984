#include "tests/fuzz/fuzzed_store.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "server/core/api/options.h"
#include "server/service/conversion/store_request_conversion.h"
#include "server/service/conversion/store_response_conversion.h"
#include "tests/fuzz/promises/promises.h"

namespace muster::fuzz {
namespace {

using core::WaiterId;

// More than any schedule needs to come to rest.
constexpr int kMostDeliveries = 1000;

}  // namespace

FuzzedStore::FuzzedStore(ByteSource* bytes, const Knowledge* known, Daemon* daemon)
    : bytes_(bytes), known_(known), daemon_(daemon) {}

void FuzzedStore::Add(const std::string& secret, const std::string& incarnation,
                      const std::string& node) {
  auto client = std::make_unique<Client>();
  client->identity.secret = secret;
  client->identity.incarnation = incarnation;
  client->identity.node_id = node;
  client->rank = static_cast<uint32_t>(clients_.size());
  NewCore(client.get());
  clients_.push_back(std::move(client));
}

void FuzzedStore::NewCore(Client* client) {
  internal::StoreClientOptions options;
  options.coordinator = "musterd:7370";
  options.job_id = "job";
  options.identity = client->identity;
  options.rank = client->rank;
  options.coordinator_timeout = absl::Minutes(10);
  options.random = [] { return uint64_t{0}; };
  client->core = std::make_unique<internal::StoreClientCore>(std::move(options));
}

internal::SteadyTime FuzzedStore::Now() const {
  return internal::SteadyTime(absl::ToChronoNanoseconds(daemon_->now() - absl::UnixEpoch()));
}

void FuzzedStore::Step() {
  Client* const client = bytes_->Pick(clients_).get();
  switch (bytes_->Below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return Begin(client);
    case 4:
      return CancelOne(client);
    case 5:
      return Cut(client);
    case 6:
      return Replace(client);
    case 7:
      return SendNoise();
    case 8:
    case 9:
      return SendNext(client, /*changed=*/true);
    case 10:
    case 11:
      return SendNext(client, /*changed=*/false);
    case 12:
    case 13:
      return ReceiveNext(client);
    default:
      return DeliverAll();
  }
}

// ---- Programs ----

// Lets the client leave, or puts another process in its place.
void FuzzedStore::Replace(Client* client) {
  if (bytes_->OneIn(4)) {
    return Apply(client, client->core->Stop(Now(), absl::CancelledError("the program ends")));
  }
  if (!bytes_->OneIn(4)) return;
  Cut(client);
  client->end.reset();
  client->down.clear();
  client->identity.secret = absl::StrCat("another ", 10000000 + ++replaced_);
  client->identity.incarnation = IncarnationOf(client->identity.secret);
  client->next_id = 1;
  NewCore(client);
}

void FuzzedStore::Begin(Client* client) {
  Tick(client);
  const internal::StoreCallId id = client->next_id++;
  if (bytes_->OneIn(16)) return Apply(client, client->core->Watch(Now(), id, ""));
  const absl::Duration timeout =
      bytes_->OneIn(2) ? absl::Minutes(1) : absl::Milliseconds(bytes_->Byte());
  Apply(client, client->core->Begin(Now(), id, NewOperation(), internal::Deadline(Now(), timeout)));
}

v1::StoreOperation FuzzedStore::NewOperation() {
  const std::string key(1, static_cast<char>('k' + bytes_->Below(3)));
  const std::string value = bytes_->OneIn(4) ? std::string(300, 'v') : bytes_->Text(2);
  v1::StoreOperation operation;
  switch (bytes_->Below(15)) {
    case 0:
    case 1:
      operation.mutable_set()->set_key(key);
      operation.mutable_set()->set_value(value);
      break;
    case 2:
      operation.mutable_get()->set_key(key);
      break;
    case 3:
      operation.mutable_wait()->add_keys(key);
      operation.mutable_wait()->add_keys("another");
      break;
    case 4:
      operation.mutable_add()->set_key("n");
      operation.mutable_add()->set_amount(static_cast<int8_t>(bytes_->Byte()));
      break;
    case 5:
      operation.mutable_compare_and_set()->set_key("c");
      operation.mutable_compare_and_set()->set_value(value);
      if (bytes_->OneIn(2)) operation.mutable_compare_and_set()->set_expected(bytes_->Text(2));
      break;
    case 6:
      operation.mutable_append()->set_key("t");
      operation.mutable_append()->set_value(value);
      break;
    case 7:
      operation.mutable_delete_()->set_key(bytes_->OneIn(2) ? key : "q");
      break;
    case 8:
      operation.mutable_list()->set_prefix(bytes_->OneIn(2) ? key : "");
      break;
    case 9:
      operation.mutable_count();
      break;
    case 10:
      operation.mutable_push()->set_key("q");
      operation.mutable_push()->set_value(value);
      break;
    case 11:
      operation.mutable_pop()->set_key("q");
      break;
    case 12:
      operation.mutable_queue_length()->set_key(bytes_->OneIn(4) ? key : "q");
      break;
    default:
      operation.mutable_barrier()->set_key(bytes_->OneIn(8) ? key : "b");
      operation.mutable_barrier()->set_count(1 + bytes_->Below(3));
      break;
  }
  return operation;
}

void FuzzedStore::CancelOne(Client* client) {
  Tick(client);
  Apply(client, client->core->Cancel(Now(), 1 + bytes_->Below(16)));
}

void FuzzedStore::Tick(Client* client) {
  if (client->core->NextDeadline() <= Now()) Apply(client, client->core->Tick(Now()));
}

void FuzzedStore::Apply(Client* client, internal::StoreEffects effects) {
  for (const internal::StoreOutput& output : effects.outputs) {
    std::visit([&](const auto& what) { Do(client, what); }, output);
  }
}

void FuzzedStore::Do(Client* client, const internal::OpenStoreStream& open) {
  client->attempt = open.attempt;
  client->stream = daemon_->NewId();
  client->up.clear();
  client->down.clear();
  client->end.reset();
  client->cancels = false;
  streams_[client->stream].client = client;
}

void FuzzedStore::Do(Client* client, const internal::SendToStore& send) {
  if (send.attempt == client->attempt && client->stream != 0) client->up.emplace_back(send.message);
}

void FuzzedStore::Do(Client* client, const internal::LeaveStoreStream& leave) {
  if (leave.attempt == client->attempt && client->stream != 0)
    client->up.emplace_back(std::nullopt);
}

void FuzzedStore::Do(Client* client, const internal::CancelStoreStream& cancel) {
  if (cancel.attempt == client->attempt) client->cancels = true;
}

// ---- Streams ----

void FuzzedStore::SendNext(Client* client, bool changed) {
  Tick(client);
  if (client->cancels) return Cut(client);
  if (client->stream == 0 || client->up.empty()) return;
  const WaiterId stream = client->stream;
  const std::optional<v1::StoreRequest> next = std::move(client->up.front());
  client->up.pop_front();
  if (!next && !streams_.at(stream).begun) return Cut(client);
  if (!next) return daemon_->Put(stream, core::StoreLeft(), nullptr);
  v1::StoreRequest request;
  const auto write = [&] { request = *next; };
  if (!changed) {
    write();
  } else if (!Compose(bytes_, *known_, write, &request)) {
    return;  // it is lost, and the later ones are not
  }
  Deliver(stream, std::move(request));
}

void FuzzedStore::ReceiveNext(Client* client) {
  Tick(client);
  if (client->cancels) Cut(client);
  if (!client->down.empty()) {
    v1::StoreResponse message = std::move(client->down.front());
    client->down.pop_front();
    return Apply(client, client->core->OnMessage(Now(), client->attempt, std::move(message)));
  }
  if (!client->end) return;
  const absl::Status end = *std::exchange(client->end, std::nullopt);
  Apply(client, client->core->OnStreamEnd(Now(), client->attempt, end));
}

void FuzzedStore::DeliverAll() {
  for (int i = 0; i < kMostDeliveries; ++i) {
    bool busy = false;
    for (const auto& client : clients_) {
      busy = busy || (client->stream != 0 && !client->up.empty()) || !client->down.empty() ||
             client->end.has_value() || client->cancels;
      SendNext(client.get(), /*changed=*/false);
      ReceiveNext(client.get());
    }
    if (!busy) return;
  }
}

// Ends the client's stream, as a network does, or the client itself.
void FuzzedStore::Cut(Client* client) {
  client->cancels = false;
  if (client->stream == 0) return;
  const WaiterId stream = client->stream;
  CloseAtDaemon(stream);
  client->stream = 0;
  client->end = absl::UnavailableError("the connection was cut");
}

void FuzzedStore::CloseAtDaemon(WaiterId stream) {
  const auto entry = streams_.find(stream);
  if (entry == streams_.end()) return;
  const bool begun = entry->second.begun;
  streams_.erase(entry);
  if (begun) daemon_->Put(stream, core::StreamClosed(), nullptr);
}

// Sends a request that no client sends: on a stream of its own, or on a client's.
void FuzzedStore::SendNoise() {
  v1::StoreRequest request;
  Fill(bytes_, *known_, &request);
  if (streams_.empty() || bytes_->OneIn(2)) {
    const WaiterId stream = daemon_->NewId();
    streams_[stream];
    return Deliver(stream, std::move(request));
  }
  const auto stream = std::next(streams_.begin(), bytes_->Byte() % streams_.size());
  if (stream->second.client == nullptr && bytes_->OneIn(4)) return CloseAtDaemon(stream->first);
  Deliver(stream->first, std::move(request));
}

// Does what the service does with a request.
void FuzzedStore::Deliver(WaiterId stream, v1::StoreRequest request) {
  absl::StatusOr<core::StoreRequest> converted = service::FromProto(v1::StoreRequest(request));
  if (!converted.ok()) {
    CheckError(converted.status());
    const Stream& refused = streams_.at(stream);
    if (refused.client != nullptr) {
      refused.client->stream = 0;
      refused.client->end = converted.status();
    }
    return CloseAtDaemon(stream);
  }
  streams_.at(stream).begun = true;
  if (request.has_operation()) {
    streams_.at(stream).asked.insert(request.operation().id());
    NoteUnreplayable(request.operation());
  }
  const journal::KeptRequest kept = journal::Tape::KeepCopy(request);
  daemon_->Put(stream, *converted, &kept);
}

void FuzzedStore::NoteUnreplayable(const v1::StoreOperation& operation) {
  if (operation.has_append()) appended_.insert(operation.append().key());
  if (operation.has_compare_and_set()) {
    replays_ = replays_ && appended_.count(operation.compare_and_set().key()) == 0;
    texts_.insert(operation.compare_and_set().key());
  }
  if (operation.has_append()) texts_.insert(operation.append().key());
  if (operation.has_set()) texts_.insert(operation.set().key());
  // The error quotes the value.
  if (operation.has_add()) replays_ = replays_ && texts_.count(operation.add().key()) == 0;
}

// ---- The daemon's promises ----

void FuzzedStore::Take(const core::StoreMessage& message) {
  const auto entry = streams_.find(message.stream);
  Check(entry != streams_.end(), "messages of the store go to open streams");
  Stream& stream = entry->second;
  const bool opens = std::holds_alternative<core::StoreOpened>(message.message);
  Check(opens != stream.opened, "a stream of the store begins with `opened`, which comes once");
  stream.opened = true;
  std::optional<v1::StoreResponse> wire =
      service::WholeResponse(message.message, core::StoreOptions());
  Check(wire.has_value(), "messages of the store can be parsed");
  if (const auto* answer = std::get_if<core::StoreAnswer>(&message.message)) {
    Check(stream.asked.erase(answer->operation) == 1,
          "an operation is answered once, and only on the stream that asks for it");
    if (!answer->error.ok()) CheckError(answer->error);
  }
  if (stream.client != nullptr) stream.client->down.push_back(*std::move(wire));
}

bool FuzzedStore::TakeEnd(const core::StreamEnd& end) {
  const auto stream = streams_.find(end.stream);
  if (stream == streams_.end()) return false;
  if (Client* const client = stream->second.client) {
    client->stream = 0;
    client->end = end.status;
  }
  if (!end.status.ok()) CheckError(end.status);
  streams_.erase(stream);
  return true;
}

bool FuzzedStore::has_streams() const {
  return std::any_of(streams_.begin(), streams_.end(),
                     [](const auto& stream) { return stream.second.begun; });
}

void FuzzedStore::NoteDaemonKilled() {
  for (auto& [id, stream] : streams_) {
    if (stream.client == nullptr) continue;
    stream.client->stream = 0;
    stream.client->down.clear();
    stream.client->end = absl::UnavailableError("the daemon was killed");
  }
  streams_.clear();
  replays_ = true;
}

}  // namespace muster::fuzz
