#include "tests/server/core/store/store_harness.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::core::store {

StoreHarness::StoreHarness(Options options) : options_(std::move(options)) {
  store_ = std::make_unique<Store>(options_, &budget_);
}

void StoreHarness::Restart() {
  ++options_.daemon_instance;
  stream_.clear();
  client_.clear();
  inbox_.clear();
  store_ = nullptr;
  store_ = std::make_unique<Store>(options_, &budget_);
}

void StoreHarness::Send(char client, const StoreRequest& request) {
  store_->Begin(now_);
  store_->Receive(stream_[client], request);
  Deliver(store_->End());
}

void StoreHarness::Deliver(Effects effects) {
  for (StoreMessage& message : effects.messages) {
    const char client = client_.at(message.stream);
    if (stream_[client] != message.stream) continue;
    ++received_[client];
    inbox_[client].push_back(std::move(message.message));
  }
  for (const StreamEnd& end : effects.ends) {
    const char client = client_.at(end.stream);
    if (stream_[client] == end.stream) ends_[client] = end.status;
  }
}

void StoreHarness::Open(char client, StoreOpen open, StoreClaim claim) {
  stream_[client] = ++streams_;
  client_[streams_] = client;
  received_[client] = confirmed_[client] = 0;
  inbox_[client].clear();
  ends_.erase(client);
  open.incarnation = IdOf(client);
  if (open.node.empty()) open.node = std::string("node-") + client;
  if (open.attempt == 0) open.attempt = ++attempts_[client];
  open.next_operation = operations_[client] + 1;
  Send(client, {std::move(open)});
  if (ends_.count(client) > 0) return;
  claim.joined.push_back(IdOf(client));
  claim.last = true;
  Send(client, {std::move(claim)});
}

void StoreHarness::Reopen(char client, const std::string& others,
                          const std::map<std::string, StoreVersion>& entries, uint64_t highest) {
  StoreOpen open;
  open.was_served = true;
  open.highest_revision = highest;
  StoreClaim claim;
  for (const char other : others) claim.joined.push_back(IdOf(other));
  for (const auto& [key, version] : entries) claim.entries.push_back({key, version});
  Open(client, open, claim);
}

void StoreHarness::OpenAll(const std::string& clients) {
  for (const char client : clients) Open(client);
  ConfirmAll();
  for (const char client : clients) inbox_[client].clear();
}

uint64_t StoreHarness::Send(char client, StoreOperation operation) {
  operation.id = ++operations_[client];
  Send(client, StoreRequest{operation});
  return operation.id;
}

void StoreHarness::Cancel(char client, uint64_t operation) {
  Send(client, StoreRequest{StoreCancel{operation}});
}

void StoreHarness::Confirm(char client) {
  while (confirmed_[client] < received_[client]) {
    confirmed_[client] = received_[client];
    Send(client, StoreRequest{StoreConfirm{received_[client]}});
  }
}

void StoreHarness::ConfirmAll() {
  for (bool busy = true; busy;) {
    busy = false;
    for (const auto& [client, stream] : stream_) {
      if (ends_.count(client) > 0 || confirmed_[client] == received_[client]) continue;
      busy = true;
      Confirm(client);
    }
  }
}

void StoreHarness::Close(char client) {
  store_->Begin(now_);
  store_->StreamClosed(stream_[client]);
  ends_[client] = absl::CancelledError("closed");
  Deliver(store_->End());
}

void StoreHarness::Leave(char client) {
  store_->Begin(now_);
  store_->Left(stream_[client]);
  Deliver(store_->End());
}

void StoreHarness::Pass(absl::Duration time) {
  now_ += time;
  store_->Begin(now_);
  Deliver(store_->End());
}

std::string StoreHarness::Answer(char client, uint64_t operation) {
  std::string text;
  for (const StoreAnswer& answer : Take<StoreAnswer>(client)) {
    if (answer.operation != operation) {
      inbox_[client].push_back(answer);
    } else if (!answer.error.ok()) {
      text = answer.error.ToString();
    } else if (answer.value != nullptr) {
      text = *answer.value;
    } else if (answer.number) {
      text = absl::StrCat(*answer.number);
    } else {
      text = answer.changed ? "changed" : "OK";
    }
  }
  return text;
}

std::optional<absl::Status> StoreHarness::End(char client) const {
  const auto it = ends_.find(client);
  if (it == ends_.end()) return std::nullopt;
  return it->second;
}

}  // namespace muster::core::store
