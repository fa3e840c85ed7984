#include "tests/server/core/random/random_store_schedule.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::core::store {

StoreSchedule::StoreSchedule(uint64_t seed, Configuration configuration)
    : random_(seed),
      configuration_(configuration),
      strict_(Pick(4) == 0),
      history_(&clients_, strict_) {
  const uint64_t number = 2 + Pick(3);
  for (uint64_t i = 0; i < number; ++i) AddClient();
  StartDaemon();
}

void StoreSchedule::Run(int steps) {
  for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) Act();
  if (!::testing::Test::HasFailure()) Rest();
  store_.reset();
  EXPECT_EQ(budget_.held(), 0u);
}

// ---- The daemon ----

void StoreSchedule::StartDaemon() {
  Options options;
  options.daemon_instance = ++instance_;
  // A daemon that starts again waits for clients that were served. Time does not reach the end of
  // that before the schedule is at rest.
  options.young_until = has_served_ ? now_ + absl::Hours(1) : absl::InfinitePast();
  options.recovery_grace = absl::Seconds(60);
  options.answers_wait_for_copy = strict_;
  store_ = std::make_unique<Store>(options, &budget_);
}

void StoreSchedule::Deliver(Effects effects) {
  for (StoreMessage& message : effects.messages) {
    ModelClient* const client = ByStream(message.stream);
    if (client == nullptr) continue;
    has_served_ = has_served_ || message.message.index() > 1;  // not only Opened and Clients
    if (const auto* answer = std::get_if<StoreAnswer>(&message.message)) {
      history_.CheckHeld(*client, *answer);
    }
    client->inbox.push_back(std::move(message.message));
  }
  for (const StreamEnd& end : effects.ends) {
    if (ModelClient* const client = ByStream(end.stream)) {
      client->end = end.status;
      client->outbox.clear();
    }
    EXPECT_NE(end.status.code(), absl::StatusCode::kInvalidArgument) << end.status;
  }
}

void StoreSchedule::NoteLosses() {
  for (const auto& [id, client] : clients_) {
    if (client->silent || !client->alive || client->ended) continue;
    if (!store_->context().clients.list().IsLost(id)) continue;
    EXPECT_TRUE(configuration_.losses) << "a client is lost";
    client->silent = true;
    history_.NoteLossOf(*client);
  }
}

void StoreSchedule::KillDaemon() {
  store_.reset();
  half_open_.clear();
  history_.NoteDaemonKilled();
  for (const auto& [id, client] : clients_) {
    if (client->stream == 0) continue;
    client->broken = true;
    client->outbox.clear();
  }
  StartDaemon();
}

// ---- Clients ----

void StoreSchedule::AddClient() {
  const std::string id = absl::StrCat(std::string(1, static_cast<char>('a' + Pick(26))),
                                      clients_.size(), std::string(16, '.'))
                             .substr(0, 16);
  clients_[id] = std::make_unique<ModelClient>(id);
  last_added_ = clients_[id].get();
}

ModelClient* StoreSchedule::ByStream(WaiterId stream) {
  for (const auto& [id, client] : clients_) {
    if (client->stream == stream && !client->broken) return client.get();
  }
  return nullptr;
}

ModelClient* StoreSchedule::Any() {
  auto it = clients_.begin();
  std::advance(it, Pick(clients_.size()));
  return it->second->alive && !it->second->ended ? it->second.get() : nullptr;
}

void StoreSchedule::Send(ModelClient* client) {
  if (client->outbox.empty() || client->broken || client->end) return;
  const StoreRequest request = client->outbox.front();
  client->outbox.pop_front();
  Step([&] { store_->Receive(client->stream, request); });
}

void StoreSchedule::Receive(ModelClient* client, bool confirms) {
  if (!client->inbox.empty()) {
    if (const auto answered = client->Process()) history_.NoteAnswered(*client, *answered);
    if (confirms && !client->broken && !client->end) client->Confirm();
  } else if (client->end) {
    client->ended = client->end->code() == absl::StatusCode::kAborted || client->silent;
    EXPECT_TRUE(!client->ended || configuration_.losses) << *client->end;
    client->Forget();
  } else if (client->broken) {
    client->Forget();
  }
}

void StoreSchedule::Cut(ModelClient* client) {
  if (client->stream == 0 || client->broken || client->end) return;
  if (Pick(3) == 0) {
    half_open_.push_back(client->stream);  // the daemon has not noticed
    return client->Forget();
  }
  const WaiterId stream = client->stream;
  client->broken = true;
  client->outbox.clear();
  if (Pick(3) == 0) client->Forget();
  Step([&] { store_->StreamClosed(stream); });
}

void StoreSchedule::CloseHalfOpen() {
  for (const WaiterId stream : std::exchange(half_open_, {})) {
    Step([&] { store_->StreamClosed(stream); });
  }
}

void StoreSchedule::Kill(ModelClient* client) {
  const WaiterId stream = client->stream;
  client->alive = false;
  client->Forget();
  if (!client->silent) history_.NoteLossOf(*client);
  if (stream == 0) return;
  Step([&] {
    if (Pick(8) == 0) {
      store_->Left(stream);
    } else {
      store_->StreamClosed(stream);
    }
  });
}

void StoreSchedule::Start(ModelClient* client) {
  if (client->unanswered.size() >= 4) return;
  StoreOperation operation;
  if (Pick(3) == 0) operation.wait_timeout = absl::Milliseconds(Pick(3) * 20);
  const std::string value = absl::StrCat(client->id.substr(0, 3), client->next_operation, ";");
  const Bytes bytes = std::make_shared<std::string>(value);
  const std::string name = Pick(3) == 0 ? "v2" : "v1";
  switch (Pick(20)) {
    case 0:
      operation.what = StoreGet{name};
      break;
    case 1:
      operation.what = StoreGet{"c"};
      break;
    case 2:
      operation.what = StoreAdd{"c", 1};
      break;
    case 3:
      operation.what = StoreAdd{"c", 1};
      break;
    case 4:
      operation.what = StoreCompareAndSet{name, Expected(name), bytes};
      break;
    case 5:
      operation.what = StoreCompareAndSet{name, std::nullopt, bytes};
      break;
    case 6:
      operation.what = StoreAppend{name, bytes};
      break;
    case 7:
      operation.what = StoreDelete{name};
      break;
    case 8:
      operation.what = StoreDelete{Pick(4) == 0 ? "q" : Pick(4) == 0 ? "b" : "c"};
      break;
    case 9:
      operation.what = StorePush{"q", bytes};
      break;
    case 10:
      operation.what = StorePush{"q", bytes};
      break;
    case 11:
      operation.what = StorePop{"q"};
      break;
    case 12:
      operation.what = StorePop{"q"};
      break;
    case 13:
      operation.what = StoreBarrier{"b", 2};
      break;
    case 14:
      operation.what = StoreWait{{"v1", "c"}};
      break;
    case 15:
      if (Pick(2) == 0)
        operation.what = StoreList{"v", ""};
      else
        operation.what = StoreCount{""};
      break;
    case 16:
      if (client->watches.empty())
        operation.what = StoreWatch{Pick(2) == 0 ? "v" : "", 0};
      else
        operation.what = StoreQueueLength{"q"};
      break;
    default:
      operation.what = StoreSet{name, bytes};
      break;
  }
  client->Start(operation);
}

std::optional<std::string> StoreSchedule::Expected(const std::string& key) const {
  const Slot* const slot = store_->slots().Find(key);
  if (slot == nullptr || !slot->exists()) return std::nullopt;
  return *std::get<Bytes>(slot->entry->content);
}

void StoreSchedule::Cancel(ModelClient* client) {
  if (client->unanswered.empty()) return;
  auto it = client->unanswered.begin();
  std::advance(it, Pick(client->unanswered.size()));
  client->Cancel(it->first);
}

void StoreSchedule::Advance(absl::Duration time) {
  now_ += time;
  Step([] {});
}

// ---- The schedule ----

void StoreSchedule::Act() {
  ModelClient* const client = Any();
  if (client == nullptr) {
    if (clients_.size() < 30) AddClient();
    return;
  }
  if (configuration_.losses && Pick(3) == 0) KillHolders();
  if (!client->alive) return;
  const uint64_t what = Pick(1000);
  if (client->stream == 0 && what < 600) return Open(client);
  if (what < 400) return Send(client);
  if (what < 760) return Receive(client, Pick(2) == 0);
  if (what < 820) {
    if (client->owes_confirmation() && !client->broken && !client->end) client->Confirm();
  } else if (what < 965) {
    Start(client);
  } else if (what < 975) {
    Cancel(client);
  } else if (what < 980) {
    Cut(client);
  } else if (what < 984) {
    if (Living() < 5 && clients_.size() < 30) AddClient();
  } else if (what < 988) {
    KillDaemon();
  } else if (what < 992) {
    if (configuration_.losses && Living() > 2) Kill(client);
  } else if (what < 994) {
    if (configuration_.losses) LoseSilent();
  } else if (what < 995) {
    if (configuration_.losses) Advance(absl::Seconds(Pick(4) == 0 ? 61 : 3));
  } else if (what < 997) {
    CloseHalfOpen();
  } else {
    Advance(absl::Milliseconds(1 + Pick(20)));
  }
}

size_t StoreSchedule::Living() const {
  return std::count_if(clients_.begin(), clients_.end(), [](const auto& it) {
    return it.second->alive && !it.second->ended && !it.second->silent;
  });
}

void StoreSchedule::DeliverAll() {
  for (bool busy = true; busy && !::testing::Test::HasFailure();) {
    busy = false;
    for (const auto& [id, client] : clients_) {
      if (!client->alive || client->ended) continue;
      if (client->stream == 0) Open(client.get());
      const bool can_send = !client->broken && !client->end;
      if (can_send && client->owes_confirmation() && client->inbox.empty()) client->Confirm();
      busy = busy || (!client->outbox.empty() && can_send) || !client->inbox.empty() ||
             client->broken || client->end;
      Send(client.get());
      Receive(client.get(), Pick(2) == 0);
    }
  }
}

}  // namespace muster::core::store
