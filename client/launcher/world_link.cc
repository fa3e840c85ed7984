#include "client/launcher/world_link.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/plan/node_name.h"
#include "client/src/control_plane/store_driver.h"
#include "common/credentials/random_bytes.h"
#include "common/process/steady_now.h"
#include "muster/v1/store.pb.h"

namespace muster::launcher {
namespace {

constexpr absl::Duration kFlushPatience = absl::Seconds(5);

}  // namespace

WorldLink::WorldLink(const JobPlan* plan, JobStoreClient* client, EventLoop* loop,
                     Handlers handlers)
    : plan_(*plan), client_(client), loop_(loop), handlers_(std::move(handlers)) {}

WorldLink::~WorldLink() {
  if (inbox_ != nullptr) loop_->Forget(inbox_->fd());
}

int WorldLink::next_generation() const {
  return nodes_ != nullptr && !joined() ? generation_ : generation_ + 1;
}

void WorldLink::BeginWorld(const std::string& name) {
  generation_ = next_generation();
  watch_.Reset();
  if (inbox_ != nullptr) loop_->Forget(inbox_->fd());
  inbox_.reset();
  old_keys_.merge(own_keys_);
  own_keys_.clear();
  prefix_ = absl::StrCat("mpi/", generation_, "/");
  const std::string previous = nodes_ == nullptr ? "" : nodes_->view();
  shape_ = {plan_.node_rank,
            plan_.RanksOfNodes(),
            NodeNameOf(plan_),
            absl::BytesToHexString(RandomBytes(8)),
            name,
            previous};
  nodes_ = std::make_unique<pmi::WorldNodes>(shape_);
  unanswered_ = 0;
  error_ = absl::OkStatus();
  told_broken_ = false;
  exchanges_.clear();
}

// ---- Calls ----

void WorldLink::Join() {
  if (joined()) return;
  inbox_ = std::make_shared<EventQueue<Event>>();
  loop_->Watch(inbox_->fd(), [this] { TakeEvents(); });
  Watch();
  Carry(nodes_->Join(absl::BytesToHexString(client_->incarnation())));
}

void WorldLink::Leave() { Carry(nodes_->Leave()); }

void WorldLink::Begin(const std::string& exchange, std::vector<int> nodes, std::string part) {
  exchanges_.insert(exchange);
  Carry(nodes_->Begin(exchange, std::move(nodes), std::move(part)));
  BreakIfNeeded();
}

void WorldLink::Ask(int rank) { Carry(nodes_->Ask(rank)); }

void WorldLink::Answer(int rank, const std::optional<std::string>& data) {
  Carry(nodes_->Answer(rank, data));
}

void WorldLink::End(const pmi::WorldEnd& end) {
  if (nodes_ != nullptr) Carry(nodes_->End(end));
}

void WorldLink::RefuseRestart(const std::string& why, const std::string& name) {
  BeginWorld(name);
  Join();
  End({why});
}

void WorldLink::Report(const std::string& missing) { Carry(nodes_->Report(missing, SteadyNow())); }

void WorldLink::Flush() {
  const absl::Time until = SteadyNow() + kFlushPatience;
  while (nodes_ != nullptr && error_.ok() && SteadyNow() < until) {
    if (unanswered_ == 0 && nodes_->settled()) return;
    loop_->Poll(until - SteadyNow());
  }
}

// ---- The store ----

void WorldLink::Watch() {
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return inbox_->Add(Answered{driver.status()});
  (*driver)->OnClientLost([inbox = inbox_](const std::string& incarnation) {
    inbox->Add(ClientLost{absl::BytesToHexString(incarnation)});
  });
  const size_t prefix_size = prefix_.size();
  absl::StatusOr<Subscription> watch = (*driver)->Watch(
      prefix_, [inbox = inbox_, prefix_size](const absl::StatusOr<v1::StoreWatchEvent>& event) {
        if (!event.ok()) return inbox->Add(Answered{event.status()});
        KeyChanged changed = {event->key().substr(prefix_size), std::nullopt};
        if (event->has_value()) changed.value = event->value();
        inbox->Add(std::move(changed));
      });
  if (!watch.ok()) return inbox_->Add(Answered{watch.status()});
  watch_ = *std::move(watch);
}

void WorldLink::TakeEvents() {
  const auto inbox = inbox_;  // a handler may begin a new world
  for (const Event& event : inbox->Take()) {
    if (inbox != inbox_) return;
    if (const auto* lost = std::get_if<ClientLost>(&event)) {
      Carry(nodes_->LoseClient(lost->client));
      continue;
    }
    if (const auto* changed = std::get_if<KeyChanged>(&event)) {
      Carry(nodes_->Receive(changed->key, changed->value, SteadyNow()));
    } else if (const absl::Status& status = std::get<Answered>(event).status; status.ok()) {
      --unanswered_;
    } else {
      NoteError(status);
    }
  }
}

void WorldLink::Carry(pmi::NodesEffects effects) {
  for (const pmi::NodesEffect& effect : effects) Carry(effect);
}

void WorldLink::Carry(const pmi::NodesEffect& effect) {
  if (const auto* set = std::get_if<pmi::SetKey>(&effect)) {
    own_keys_.insert(prefix_ + set->key);
    Set(prefix_ + set->key, set->value);
  } else if (const auto* gone = std::get_if<pmi::DeleteKey>(&effect)) {
    own_keys_.erase(prefix_ + gone->key);
    Delete(prefix_ + gone->key);
  } else if (const auto* formed = std::get_if<pmi::WorldFormed>(&effect)) {
    for (const std::string& key : std::exchange(old_keys_, {})) Delete(key);
    handlers_.on_formed(formed->name);
  } else if (const auto* ended = std::get_if<pmi::ExchangeEnded>(&effect)) {
    exchanges_.erase(ended->exchange);
    handlers_.on_exchanged(ended->exchange, ended->parts);
  } else if (const auto* asked = std::get_if<pmi::RankAsked>(&effect)) {
    handlers_.on_asked(asked->rank);
  } else if (const auto* answered = std::get_if<pmi::RankAnswered>(&effect)) {
    handlers_.on_answered(answered->rank, answered->data);
  } else if (const auto* over = std::get_if<pmi::WorldEnded>(&effect)) {
    handlers_.on_ended(over->end);
  } else {
    handlers_.on_broken(std::get<pmi::WorldBroken>(effect).why);
  }
}

void WorldLink::Set(const std::string& key, const std::string& value) {
  v1::StoreOperation operation;
  operation.mutable_set()->set_key(key);
  operation.mutable_set()->set_value(value);
  Change(std::move(operation));
}

void WorldLink::Delete(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_delete_()->set_key(key);
  Change(std::move(operation));
}

void WorldLink::Change(v1::StoreOperation operation) {
  const absl::StatusOr<internal::StoreDriver*> driver = client_->Connect();
  if (!driver.ok()) return NoteError(driver.status());
  ++unanswered_;
  (*driver)->Begin(std::move(operation),
                   [inbox = inbox_](const absl::StatusOr<v1::StoreAnswer>& answer) {
                     if (inbox != nullptr) inbox->Add(Answered{answer.status()});
                   });
}

// ---- Errors ----

void WorldLink::NoteError(const absl::Status& status) {
  if (error_.ok()) error_ = status;
  BreakIfNeeded();
}

// A world that needs no more exchanges, such as one whose ranks compute, can do without the store.
// But if this launcher counts as lost (ABORTED), the other nodes have ended the world.
void WorldLink::BreakIfNeeded() {
  const bool needed =
      joined() && (!nodes_->formed() || !exchanges_.empty() || absl::IsAborted(error_));
  if (error_.ok() || !needed || std::exchange(told_broken_, true)) return;
  handlers_.on_broken(absl::StrCat("the job's store cannot be used: ", error_.message()));
}

}  // namespace muster::launcher
