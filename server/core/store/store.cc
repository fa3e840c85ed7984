#include "server/core/store/store.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/rpc/overloaded.h"

namespace muster::core::store {

namespace {

absl::Status OutOfOrder(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": a stream begins with one open, and then its claim"));
}

// How many messages a client may leave unconfirmed and still have operations served. Answers to
// its own operations are most of them. A client confirms as soon as it has read all.
constexpr size_t kMostUnconfirmed = 65536;

// The highest revision that a claim may name: no job gets there.
constexpr uint64_t kHighestRevision = uint64_t{1} << 62;

absl::Status Check(const StoreOpen& open, const StoreClaim& claim) {
  if (!open.was_served && !claim.entries.empty()) {
    return absl::InvalidArgumentError("a client that was never served claims entries");
  }
  uint64_t highest = open.highest_revision;
  for (const ClaimedStoreEntry& entry : claim.entries) {
    if (entry.key.empty() || entry.version.revision == 0) {
      return absl::InvalidArgumentError("a claimed entry has no key or no revision");
    }
    highest = std::max(highest, entry.version.revision);
  }
  if (highest <= kHighestRevision) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a claim names revision ", highest));
}

uint64_t SizeOf(const StoreClaim& claim) {
  uint64_t bytes = 64 * (claim.joined.size() + claim.lost.size());
  for (const ClaimedStoreEntry& entry : claim.entries) bytes += 64 + entry.key.size();
  return bytes;
}

}  // namespace

// ---- Messages ----

void Store::Receive(WaiterId stream, const StoreRequest& request) {
  absl::Status taken =
      std::visit([&](const auto& message) { return Take(stream, message); }, request.message);
  if (!taken.ok()) Reject(stream, std::move(taken));
}

void Store::Reject(WaiterId stream, absl::Status why) {
  opening_.erase(stream);
  if (Client* const client = context_.clients.FindByStream(stream)) Detach(client);
  context_.EndStream(stream, std::move(why));
}

absl::StatusOr<Client*> Store::ClientOf(WaiterId stream) const {
  if (Client* const client = context_.clients.FindByStream(stream)) return client;
  return OutOfOrder("the stream is not open");
}

absl::Status Store::Take(WaiterId stream, const StoreOpen& open) {
  if (context_.clients.FindByStream(stream) != nullptr) return OutOfOrder("a second open");
  if (absl::Status s = Admit(open); !s.ok()) return s;
  if (!opening_.try_emplace(stream, Opening{open, {}, ByteCharge(context_.budget)}).second) {
    return OutOfOrder("a second open");
  }
  return absl::OkStatus();
}

absl::Status Store::Take(WaiterId stream, const StoreClaim& claim) {
  const auto opening = opening_.find(stream);
  if (opening == opening_.end()) return OutOfOrder("a claim without an open");
  StoreClaim& all = opening->second.claim;
  ByteCharge& charge = opening->second.charge;
  const uint64_t bytes = SizeOf(claim);
  if (absl::Status s = context_.budget->Check(bytes); !s.ok()) return s;
  charge.Set(charge.bytes() + bytes);
  all.joined.insert(all.joined.end(), claim.joined.begin(), claim.joined.end());
  all.lost.insert(all.lost.end(), claim.lost.begin(), claim.lost.end());
  all.entries.insert(all.entries.end(), claim.entries.begin(), claim.entries.end());
  if (!claim.last) return absl::OkStatus();
  const Opening complete = std::move(opening->second);
  opening_.erase(opening);
  return Attach(stream, complete.open, complete.claim);
}

absl::Status Store::Take(WaiterId stream, const StoreOperation& operation) {
  const absl::StatusOr<Client*> client = ClientOf(stream);
  if (!client.ok()) return client.status();
  if ((*client)->unconfirmed.size() >= kMostUnconfirmed) {
    return absl::UnavailableError(absl::StrCat((*client)->Describe(), " has not confirmed ",
                                               (*client)->unconfirmed.size(),
                                               " messages; open another stream"));
  }
  return operations_.Receive(*client, operation);
}

absl::Status Store::Take(WaiterId stream, const StoreCancel& cancel) {
  const absl::StatusOr<Client*> client = ClientOf(stream);
  if (client.ok()) operations_.Cancel(*client, cancel);
  return client.status();
}

absl::Status Store::Take(WaiterId stream, const StoreConfirm& confirm) {
  const absl::StatusOr<Client*> client = ClientOf(stream);
  if (!client.ok()) return client.status();
  if (confirm.processed < (*client)->processed || confirm.processed > (*client)->sent) {
    return absl::InvalidArgumentError(absl::StrCat(
        (*client)->Describe(), " confirms ", confirm.processed, " messages; ", (*client)->sent,
        " were sent, and ", (*client)->processed, " were confirmed before"));
  }
  (*client)->processed = confirm.processed;
  auto& unconfirmed = (*client)->unconfirmed;
  while (!unconfirmed.empty() && unconfirmed.front().position <= confirm.processed) {
    const Sent sent = unconfirmed.front();
    unconfirmed.pop_front();
    (*client)->unconfirmed_bytes -= sent.bytes;
    Confirm(*client, sent);
  }
  if (!(*client)->HasRoom()) return absl::OkStatus();
  for (const std::string& key : std::exchange((*client)->postponed, {})) {
    if (Slot* const slot = slots_.Find(key)) slots_.SetDue(slot);
  }
  return absl::OkStatus();
}

absl::Status Store::Take(WaiterId stream, const StoreEntries& entries) {
  const absl::StatusOr<Client*> client = ClientOf(stream);
  return client.ok() ? recovery_.Receive(*client, entries) : client.status();
}

void Store::Confirm(Client* client, const Sent& sent) {
  std::visit(
      Overloaded{
          [](const SentOther&) {},
          [&](const SentNews& news) { context_.clients.NoteKnows(client, news.position); },
          [&](const SentAnswer& answer) { operations_.Acknowledge(client, answer.operation); },
          [&](const SentHold& hold) { placement_.Confirm(client, sent.position, hold); },
          [&](const SentDrop& drop) { placement_.Confirm(client, sent.position, drop); },
      },
      sent.what);
}

// ---- Streams ----

absl::Status Store::Admit(const StoreOpen& open) const {
  const Clients& clients = context_.clients;
  if (clients.list().IsLost(open.incarnation)) {
    return absl::AbortedError("the client counts as lost: it has no part in the store any more");
  }
  const Client* const client = clients.Find(open.incarnation);
  if (client != nullptr && client->open && client->open->attempt > open.attempt) {
    return absl::CancelledError("a later stream of the client has come before this one");
  }
  if (client == nullptr && !context_.gathering && open.was_served) {
    return absl::AbortedError(
        "the client came back too late: the store has recovered without it (musterd "
        "--recovery-grace sets how long it waits)");
  }
  if (client == nullptr && clients.list().size() >= context_.options.max_clients) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the store has had ", clients.list().size(), " clients; it takes no more"));
  }
  return absl::OkStatus();
}

absl::Status Store::Attach(WaiterId stream, const StoreOpen& open, const StoreClaim& claim) {
  if (absl::Status s = Admit(open); !s.ok()) return s;
  if (absl::Status s = Check(open, claim); !s.ok()) return s;
  if (Client* const client = context_.clients.Find(open.incarnation)) {
    if (client->attached()) {
      const WaiterId older = client->stream;
      Detach(client);
      context_.EndStream(older, absl::CancelledError("the client has opened another stream"));
    }
  }
  Merge(open, claim);
  Client* const client = context_.clients.Find(open.incarnation);
  if (client == nullptr) {
    return absl::AbortedError("the client counts as lost: it has no part in the store any more");
  }
  graces_.Clear(client->id);
  context_.clients.Attach(client, stream, open);
  Welcome(client, claim);
  return absl::OkStatus();
}

// Merges the lists. After the recovery, a claim can name a client that the daemon does not know
// only if neither was served. The daemon hears of it when it comes.
void Store::Merge(const StoreOpen& open, const StoreClaim& claim) {
  const bool is_new = context_.clients.Join(open.incarnation) != nullptr;
  for (const Incarnation& id : claim.joined) {
    if (!context_.gathering || context_.clients.list().HasJoined(id)) continue;
    context_.clients.Join(id);
    if (ended_.count(id) > 0) context_.clients.Lose(id);
  }
  for (const Incarnation& id : claim.lost) {
    Client* const client = context_.clients.Find(id);
    if (client == nullptr) {
      context_.clients.Lose(id);
    } else {
      Lose(client, "another client knows that it is lost",
           absl::AbortedError("the client counts as lost"));
    }
  }
  if (is_new) placement_.NoteNewClient();
}

void Store::Welcome(Client* client, const StoreClaim& claim) {
  context_.latest = std::max(context_.latest, client->open->highest_revision);
  context_.Send(client, StoreOpened{context_.options.daemon_instance, !context_.serving});
  StoreClients missing = context_.clients.list().MissingIn(claim, client->id);
  client->told = context_.clients.list().size();
  if (missing.joined.empty() && missing.lost.empty()) {
    context_.clients.NoteKnows(client, client->told);
  } else {
    context_.Send(client, std::move(missing), SentNews{client->told});
  }
  placement_.NoteClaim(client, claim);
  operations_.AcknowledgeClaimed(client);
  if (!context_.serving) recovery_.NoteClaim(*client);
}

void Store::Detach(Client* client) {
  operations_.RemoveAll(client);
  watches_.RemoveAll(client);
  recovery_.NoteDetached(client);
  context_.clients.Detach(client);
  graces_.Set(client->id, context_.now + context_.options.member_grace);
}

bool Store::StreamClosed(WaiterId stream) {
  if (opening_.erase(stream) > 0) return true;
  Client* const client = context_.clients.FindByStream(stream);
  if (client != nullptr) Detach(client);
  return client != nullptr;
}

void Store::Left(WaiterId stream) {
  if (opening_.erase(stream) > 0) return context_.EndStream(stream, absl::OkStatus());
  Client* const client = context_.clients.FindByStream(stream);
  if (client != nullptr) Lose(client, "it has left", absl::OkStatus());
}

void Store::NoteEnded(const Incarnation& id, absl::string_view why) {
  if (!context_.serving) ended_.insert(id);
  if (Client* const client = context_.clients.Find(id)) {
    Lose(client, why, absl::AbortedError(absl::StrCat("the client counts as lost: ", why)));
  }
}

void Store::Lose(Client* client, absl::string_view why, const absl::Status& end) {
  context_.Log(Severity::kDebug,
               absl::StrCat("the store has lost ", client->Describe(), ": ", why));
  const WaiterId stream = client->stream;
  if (client->attached()) Detach(client);
  graces_.Clear(client->id);
  recovery_.NoteLost(client);
  operations_.ForgetResults(client);
  placement_.Remove(client);
  context_.clients.Lose(client->id);
  if (stream != 0) context_.EndStream(stream, end);
}

void Store::Drain(const absl::Status& status) {
  std::vector<WaiterId> streams;
  for (const auto& [stream, opening] : opening_) streams.push_back(stream);
  for (const auto& [id, client] : context_.clients.all()) {
    if (client->attached()) streams.push_back(client->stream);
  }
  std::sort(streams.begin(), streams.end());
  for (const WaiterId stream : streams) Reject(stream, status);
  graces_ = {};
}

// ---- The end of a step ----

Time Store::NextDeadline() const {
  return std::min({graces_.Next(), operations_.NextDeadline(), recovery_.NextDeadline()});
}

Effects Store::End() {
  Advance();
  TellAll();
  return std::exchange(context_.out, {});
}

// Tells the news of the list. A client that has not confirmed earlier news gets them later, or
// with the next message (K10). So the news of many clients are sent together.
void Store::TellAll() {
  const size_t news = context_.clients.list().size();
  if (told_all_ == news) return;
  bool all = true;
  for (const auto& [id, client] : context_.clients.all()) {
    if (!client->attached()) continue;
    if (client->knows == client->told) context_.Tell(client.get());
    all = all && client->told == news;
  }
  if (all) told_all_ = news;
}

void Store::Advance() {
  while (AdvanceOnce()) {
  }
  watches_.SendEvents();
}

bool Store::AdvanceOnce() {
  if (const std::optional<Incarnation> id = graces_.Pop(context_.now)) {
    Lose(context_.clients.Find(*id), "its stream has ended", absl::OkStatus());
    return true;
  }
  if (Client* const late = recovery_.TakeLate()) {
    ++late->fetches_failed;
    const WaiterId stream = late->stream;
    Detach(late);
    context_.EndStream(stream, absl::UnavailableError(
                                   "the client has not sent entries that the daemon needs; open "
                                   "another stream"));
    return true;
  }
  if (!context_.serving) {
    std::vector<Client*> missing;
    if (recovery_.Advance(&missing)) return true;
    for (Client* const client : missing) {
      Lose(client, "it has not come back", absl::OkStatus());
    }
    return !missing.empty();
  }
  if (Client* const client = context_.clients.TakeKnown()) {
    for (const std::string& key : std::exchange(client->postponed, {})) {
      if (Slot* const slot = slots_.Find(key)) slots_.SetDue(slot);
    }
    operations_.ServeAll(client);
    return true;
  }
  if (Slot* const slot = slots_.TakeDue()) {
    Settle(slot);
    return true;
  }
  if (operations_.NextDeadline() > context_.now) return false;
  operations_.TimeOut();
  return true;
}

void Store::Settle(Slot* slot) {
  operations_.Wake(slot);
  placement_.Settle(slot);
  operations_.Release(slot);
  slots_.EraseIfUnused(slot);
}

}  // namespace muster::core::store
