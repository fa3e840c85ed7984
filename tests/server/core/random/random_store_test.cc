#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/store/content.h"
#include "server/core/store/store.h"
#include "tests/server/core/random/random_store_client.h"
#include "tests/server/core/random/random_store_history.h"

// Random schedules of a few clients and a few keys, with everything that may go wrong: streams end,
// daemons are killed, clients come late, die, or are silent until they count as lost. The checks
// are those of tests/model/store.pml: ONCE, RESULT, HELD, LOST, RISEN and GIVEN_UP during the
// schedule (random_store_history.h), and STUCK and PLACED at its end, when all messages have
// arrived. Contents and watches must be right, too.
//
// MUSTER_TEST_SEED repeats one seed.
namespace muster::core::store {
namespace {

struct Configuration {
  bool losses = false;  // clients die, and some are silent
};

class Schedule {
 public:
  Schedule(uint64_t seed, Configuration configuration)
      : random_(seed),
        configuration_(configuration),
        strict_(Pick(4) == 0),
        history_(&clients_, strict_) {
    const uint64_t number = 2 + Pick(3);
    for (uint64_t i = 0; i < number; ++i) AddClient();
    StartDaemon();
  }

  void Run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) Act();
    if (!::testing::Test::HasFailure()) Rest();
    store_.reset();
    EXPECT_EQ(budget_.held(), 0u);
  }

 private:
  uint64_t Pick(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }

  // ---- The daemon ----

  void StartDaemon() {
    Options options;
    options.daemon_instance = ++instance_;
    // A daemon that starts again waits for clients that were served. Time does not reach the end of
    // that before the schedule is at rest.
    options.young_until = has_served_ ? now_ + absl::Hours(1) : absl::InfinitePast();
    options.recovery_grace = absl::Seconds(60);
    options.answers_wait_for_copy = strict_;
    store_ = std::make_unique<Store>(options, &budget_);
  }

  template <class Input>
  void Step(const Input& input) {
    store_->Begin(now_);
    input();
    Deliver(store_->End());
    NoteLosses();
    history_.Observe(*store_);
  }

  void Deliver(Effects effects) {
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

  // Notes clients that live and that the daemon has lost.
  void NoteLosses() {
    for (const auto& [id, client] : clients_) {
      if (client->silent || !client->alive || client->ended) continue;
      if (!store_->context().clients.list().IsLost(id)) continue;
      EXPECT_TRUE(configuration_.losses) << "a client is lost";
      client->silent = true;
      history_.NoteLossOf(*client);
    }
  }

  void KillDaemon() {
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

  void AddClient() {
    const std::string id = absl::StrCat(std::string(1, static_cast<char>('a' + Pick(26))),
                                        clients_.size(), std::string(16, '.'))
                               .substr(0, 16);
    clients_[id] = std::make_unique<ModelClient>(id);
    last_added_ = clients_[id].get();
  }

  ModelClient* ByStream(WaiterId stream) {
    for (const auto& [id, client] : clients_) {
      if (client->stream == stream && !client->broken) return client.get();
    }
    return nullptr;
  }

  // Returns a client that lives, or null.
  ModelClient* Any() {
    auto it = clients_.begin();
    std::advance(it, Pick(clients_.size()));
    return it->second->alive && !it->second->ended ? it->second.get() : nullptr;
  }

  void Open(ModelClient* client) { client->Open(++streams_, 1 + Pick(4)); }

  // Lets the daemon take the client's next message.
  void Send(ModelClient* client) {
    if (client->outbox.empty() || client->broken || client->end) return;
    const StoreRequest request = client->outbox.front();
    client->outbox.pop_front();
    Step([&] { store_->Receive(client->stream, request); });
  }

  // Lets the client take the daemon's next message, or the end of its stream.
  void Receive(ModelClient* client, bool confirms) {
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

  void Cut(ModelClient* client) {
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

  // Lets the daemon notice the ends of streams that their clients have dropped.
  void CloseHalfOpen() {
    for (const WaiterId stream : std::exchange(half_open_, {})) {
      Step([&] { store_->StreamClosed(stream); });
    }
  }

  void Kill(ModelClient* client) {
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

  void Start(ModelClient* client) {
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

  std::optional<std::string> Expected(const std::string& key) const {
    const Slot* const slot = store_->slots().Find(key);
    if (slot == nullptr || !slot->exists()) return std::nullopt;
    return *std::get<Bytes>(slot->entry->content);
  }

  void Cancel(ModelClient* client) {
    if (client->unanswered.empty()) return;
    auto it = client->unanswered.begin();
    std::advance(it, Pick(client->unanswered.size()));
    client->Cancel(it->first);
  }

  void Advance(absl::Duration time) {
    now_ += time;
    Step([] {});
  }

  // ---- Faults that come together ----

  // Some steps in which the others go on, but confirm little.
  void GoOnWithout(const ModelClient* away, int steps) {
    for (int i = 0; i < steps; ++i) {
      ModelClient* const client = Any();
      if (client == nullptr || client == away || client->stream == 0) continue;
      const uint64_t what = Pick(10);
      if (what < 4) {
        Send(client);
      } else if (what < 7) {
        Receive(client, /*confirms=*/Pick(4) == 0);
      } else if (what < 9) {
        Start(client);
      } else {
        Receive(client, /*confirms=*/true);
      }
    }
  }

  bool HasConfirmed(const Slot& slot, const Client* holder) const {
    if (holder == nullptr || !holder->attached() || !clients_.at(holder->id)->alive) return false;
    return std::any_of(slot.holdings.begin(), slot.holdings.end(), [&](const Holding& holding) {
      return holding.client == holder && holding.confirmed == slot.version.revision;
    });
  }

  // Returns a client that is no holder of the entry, and that an older revision of it is on its way
  // to, or null.
  ModelClient* LateHolder(const Slot& slot) const {
    for (const auto& [id, client] : clients_) {
      if (!client->alive || client->silent || client->broken || client->end) continue;
      if (id == slot.keeper->id || id == slot.copy->id) continue;
      for (const StoreResponse& message : client->inbox) {
        const auto* hold = std::get_if<StoreHold>(&message);
        if (hold != nullptr && hold->key == slot.key) return client.get();
      }
    }
    return nullptr;
  }

  // Keeper and copy of an entry die when another client still has to take an older revision. It
  // must go on holding that until other holders are here. The daemon dies before that.
  void KillHolders() {
    if (Living() < 3) return;
    for (const auto& [name, slot] : store_->slots().all()) {
      if (!HasConfirmed(*slot, slot->keeper) || !HasConfirmed(*slot, slot->copy)) continue;
      ModelClient* const late = LateHolder(*slot);
      if (late == nullptr) continue;
      const std::string keeper = slot->keeper->id;
      const std::string copy = slot->copy->id;
      Kill(clients_[keeper].get());
      Kill(clients_[copy].get());
      while (!late->inbox.empty() && !::testing::Test::HasFailure()) {
        Receive(late, /*confirms=*/true);
        if (Pick(4) != 0) {
          while (!late->outbox.empty() && !late->broken && !late->end) Send(late);
        }
      }
      return KillDaemon();
    }
  }

  // A client comes, and another one is silent until it is lost. The daemon dies before all have
  // confirmed that.
  void LoseSilent() {
    ModelClient* const silent = Any();
    if (silent == nullptr || silent->stream == 0 || silent->broken || Living() < 3) return;
    AddClient();
    ModelClient* const added = last_added_;
    Open(added);
    while (!added->outbox.empty()) Send(added);
    const WaiterId stream = silent->stream;
    silent->Forget();
    Step([&] { store_->StreamClosed(stream); });
    if (Pick(2) == 0) GoOnWithout(silent, static_cast<int>(Pick(20)));
    Advance(absl::Seconds(3));
    GoOnWithout(silent, static_cast<int>(Pick(60)));
    KillDaemon();
  }

  // ---- The schedule ----

  void Act() {
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

  size_t Living() const {
    return std::count_if(clients_.begin(), clients_.end(), [](const auto& it) {
      return it.second->alive && !it.second->ended && !it.second->silent;
    });
  }

  // Lets all messages arrive.
  void DeliverAll() {
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

  // Lets the schedule come to rest, and checks that nothing is stuck, and that every entry is where
  // it belongs.
  void Rest() {
    CloseHalfOpen();
    DeliverAll();
    if (configuration_.losses) {
      for (const int seconds : {3, 61, 4000}) {
        Advance(absl::Seconds(seconds));
        DeliverAll();
      }
    } else if (!store_->context().serving) {
      Advance(absl::Hours(2));  // no client was ever served
      DeliverAll();
    }
    if (Living() == 0 || ::testing::Test::HasFailure()) return;
    EXPECT_TRUE(store_->context().serving) << "STUCK: the recovery";
    for (const auto& [id, client] : clients_) {
      if (client->alive && !client->ended) CheckNotStuck(*client);
    }
    for (const auto& [name, slot] : store_->slots().all()) CheckPlaced(*slot);
    EXPECT_EQ(store_->slots().entries(), store_->slots().existing()) << "a tombstone is left";
  }

  bool Exists(const std::string& key) const {
    const Slot* const slot = store_->slots().Find(key);
    return slot != nullptr && slot->exists();
  }

  void CheckNotStuck(const ModelClient& client) {
    for (const auto& [id, operation] : client.unanswered) {
      bool may_wait = false;
      if (const auto* get = std::get_if<StoreGet>(&operation.what)) may_wait = !Exists(get->key);
      if (const auto* wait = std::get_if<StoreWait>(&operation.what)) {
        for (const std::string& key : wait->keys) may_wait = may_wait || !Exists(key);
      }
      const Slot* const slot =
          KeyOf(operation) == nullptr ? nullptr : store_->slots().Find(*KeyOf(operation));
      if (std::holds_alternative<StorePop>(operation.what)) {
        may_wait = slot == nullptr || !slot->exists() ||
                   std::get<StoreQueue>(slot->entry->content).elements.empty();
      }
      if (std::holds_alternative<StoreBarrier>(operation.what)) {
        const auto& now = std::get<StoreArrivals>(slot->entry->content);
        may_wait = now.arrived < now.complete_at;
      }
      EXPECT_TRUE(may_wait) << "STUCK: operation " << id << " of " << client.id << ", kind "
                            << operation.what.index();
    }
    for (const auto& [id, watch] : client.watches) CheckWatch(watch);
  }

  // After losses, events may have told of changes that are lost.
  void CheckWatch(const ModelClient::Watch& watch) {
    if (configuration_.losses) return;
    std::map<std::string, uint64_t> expected;
    for (const auto& [name, slot] : store_->slots().all()) {
      if (slot->exists() && name.compare(0, watch.prefix.size(), watch.prefix) == 0) {
        expected[name] = slot->version.revision;
      }
    }
    EXPECT_EQ(watch.keys, expected) << "of a watch of '" << watch.prefix << "'";
  }

  void CheckPlaced(const Slot& slot) {
    if (slot.entry) {
      EXPECT_NE(slot.keeper, nullptr);
      EXPECT_TRUE(slot.copy != nullptr || Living() == 1) << "PLACED: key " << slot.key;
    }
    for (const auto& [id, client] : clients_) {
      if (!client->alive || client->ended) continue;
      const auto held = client->held.find(slot.key);
      const bool is_holder = slot.entry && ((slot.keeper != nullptr && slot.keeper->id == id) ||
                                            (slot.copy != nullptr && slot.copy->id == id));
      ASSERT_EQ(held != client->held.end(), is_holder)
          << "PLACED: key " << slot.key << " at " << id;
      if (!is_holder) continue;
      EXPECT_TRUE(held->second.version == slot.version) << "PLACED: key " << slot.key;
      EXPECT_TRUE(SameContent(held->second.entry.content, slot.entry->content))
          << "client " << id << " holds another content of key " << slot.key;
    }
  }

  std::mt19937_64 random_;
  const Configuration configuration_;
  const bool strict_;
  ByteBudget budget_{uint64_t{1} << 30};
  ClientMap clients_;
  ModelClient* last_added_ = nullptr;
  StoreHistory history_;
  Time now_ = absl::UnixEpoch() + absl::Hours(1);
  uint64_t instance_ = 0;
  bool has_served_ = false;
  std::vector<WaiterId> half_open_;
  WaiterId streams_ = 0;
  std::unique_ptr<Store> store_;
};

void RunSeeds(Configuration configuration) {
  uint64_t first = 1;
  uint64_t last = 1000;
  uint64_t seed = 0;
  if (const char* const text = std::getenv("MUSTER_TEST_SEED");
      text != nullptr && absl::SimpleAtoi(text, &seed)) {
    first = last = seed;
  }
  for (seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("MUSTER_TEST_SEED=", seed));
    Schedule(seed, configuration).Run(1500);
  }
}

TEST(RandomStoreTest, NothingIsLostWhenStreamsAndDaemonsEnd) { RunSeeds({}); }

TEST(RandomStoreTest, LosesNoMoreThanItMayWhenClientsAreLost) { RunSeeds({true}); }

}  // namespace
}  // namespace muster::core::store
