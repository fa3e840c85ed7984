#include "tests/client/protocol/store/store_world.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "tests/client/protocol/store/core_messages.h"

namespace muster {

using internal::SteadyTime;
using internal::StoreEffects;

StoreWorld::StoreWorld(uint64_t seed, int clients, Observer observer)
    : random_(seed), observer_(std::move(observer)), now_(std::chrono::hours(1)) {
  for (int i = 0; i < clients; ++i) {
    internal::StoreClientOptions options;
    options.coordinator = "host:7370";
    options.job_id = "run";
    options.identity.incarnation = absl::StrCat("client ", i, "--------");
    options.identity.secret = "secret----------";
    options.identity.node_id = absl::StrCat("node ", i % 2);
    options.rank = i;
    options.coordinator_timeout = absl::Minutes(10);
    options.random = [engine = std::mt19937_64(seed + i)]() mutable { return engine(); };
    const std::string id = options.identity.incarnation;
    clients_.push_back({id, std::make_unique<internal::StoreClientCore>(std::move(options)), 1});
  }
  daemon_starts_at_ = now_;
  StartDaemonIfDue();
}

absl::Time StoreWorld::DaemonTime() const {
  return absl::UnixEpoch() + absl::FromChrono(now_.time_since_epoch());
}

void StoreWorld::StartDaemonIfDue() {
  if (daemon_ != nullptr || now_ < daemon_starts_at_) return;
  core::store::Options options;
  options.daemon_instance = 1000 + ++daemons_;
  // Only a later daemon may have clients that an earlier one has served.
  if (daemons_ > 1) options.young_until = DaemonTime() + absl::Seconds(10);
  options.member_grace = absl::Seconds(30);
  options.recovery_grace = absl::Seconds(60);
  daemon_ = std::make_unique<core::store::Store>(options, &budget_);
}

// ---- Programs ----

void StoreWorld::Begin(int client, const v1::StoreOperation& operation, absl::Duration timeout) {
  const internal::StoreCallId id = clients_[client].next_id++;
  const internal::Deadline deadline(now_, timeout);
  Take(client, clients_[client].core->Begin(now_, id, operation, deadline));
}

void StoreWorld::Watch(int client, const std::string& prefix) {
  const internal::StoreCallId id = clients_[client].next_id++;
  Take(client, clients_[client].core->Watch(now_, id, prefix));
}

void StoreWorld::Cancel(int client, internal::StoreCallId id) {
  Take(client, clients_[client].core->Cancel(now_, id));
}

void StoreWorld::Leave(int client) {
  Take(client, clients_[client].core->Stop(now_, absl::CancelledError("the program has ended")));
  clients_[client].core.reset();
}

void StoreWorld::Take(int client, StoreEffects effects) {
  for (const internal::StoreOutput& output : effects.outputs) {
    std::visit([&](const auto& what) { Do(client, what); }, output);
  }
  observer_(client, effects);
}

void StoreWorld::Log(const std::string& line) const {
  static const bool is_on = std::getenv("MUSTER_TEST_LOG") != nullptr;
  if (is_on)
    std::cerr << absl::FormatDuration(DaemonTime() - absl::UnixEpoch()) << " " << line << "\n";
}

void StoreWorld::Do(int client, const internal::OpenStoreStream& open) {
  Log(absl::StrCat("client ", client, " opens stream ", open.attempt));
  Stream stream;
  stream.client = client;
  stream.attempt = open.attempt;
  stream.id = next_stream_++;
  stream.is_cut = stream.daemon_knows_end = daemon_ == nullptr;
  streams_.push_back(std::move(stream));
}

void StoreWorld::Do(int client, const internal::SendToStore& send) {
  Stream* const stream = Find(client, send.attempt);
  if (stream != nullptr && !stream->is_cut) stream->up.emplace_back(send.message);
}

void StoreWorld::Do(int client, const internal::LeaveStoreStream& leave) {
  Stream* const stream = Find(client, leave.attempt);
  if (stream != nullptr && !stream->is_cut) stream->up.emplace_back(std::nullopt);
}

void StoreWorld::Do(int client, const internal::CancelStoreStream& cancel) {
  if (Stream* const stream = Find(client, cancel.attempt)) Cut(stream);
}

void StoreWorld::Do(int /*client*/, const internal::WarnOfStore& /*line*/) {}

StoreWorld::Stream* StoreWorld::Find(int client, uint64_t attempt) {
  for (Stream& stream : streams_) {
    if (stream.client == client && stream.attempt == attempt) return &stream;
  }
  return nullptr;
}

// ---- Network and time ----

bool StoreWorld::HasForDaemon(const Stream& stream) const {
  return !stream.daemon_knows_end && (!stream.up.empty() || stream.is_cut);
}

bool StoreWorld::HasForClient(const Stream& stream) const {
  return !stream.client_knows_end && (!stream.down.empty() || stream.is_cut);
}

bool StoreWorld::DeliverOne() {
  std::vector<std::pair<Stream*, bool>> choices;  // and whether it is for the daemon
  for (Stream& stream : streams_) {
    if (HasForDaemon(stream)) choices.emplace_back(&stream, true);
    if (HasForClient(stream)) choices.emplace_back(&stream, false);
  }
  if (choices.empty()) return false;
  const auto [stream, is_for_daemon] = choices[Random(choices.size())];
  is_for_daemon ? DeliverToDaemon(stream) : DeliverToClient(stream);
  streams_.remove_if([](const Stream& s) { return s.daemon_knows_end && s.client_knows_end; });
  return true;
}

void StoreWorld::DeliverToDaemon(Stream* stream) {
  const core::WaiterId id = stream->id;
  if (stream->up.empty()) {
    Log(absl::StrCat("the daemon sees the end of stream ", stream->attempt, " of client ",
                     stream->client));
    stream->daemon_knows_end = true;
    return StepDaemon([id](core::store::Store* store) { store->StreamClosed(id); });
  }
  const std::optional<v1::StoreRequest> request = std::move(stream->up.front());
  stream->up.pop_front();
  Log(absl::StrCat("client ", stream->client, " sends ",
                   request ? request->ShortDebugString() : "that it leaves"));
  StepDaemon([&](core::store::Store* store) {
    request ? store->Receive(id, CoreRequestOf(*request)) : store->Left(id);
  });
}

void StoreWorld::DeliverToClient(Stream* stream) {
  const bool is_end = stream->down.empty();
  v1::StoreResponse response;
  if (is_end) {
    stream->client_knows_end = true;
  } else {
    response = std::move(stream->down.front());
    stream->down.pop_front();
  }
  internal::StoreClientCore* const core = clients_[stream->client].core.get();
  if (core == nullptr) return;
  Log(absl::StrCat("client ", stream->client, " gets ",
                   is_end ? stream->end.ToString() : response.ShortDebugString()));
  Take(stream->client, is_end ? core->OnStreamEnd(now_, stream->attempt, stream->end)
                              : core->OnMessage(now_, stream->attempt, std::move(response)));
}

void StoreWorld::StepDaemon(const std::function<void(core::store::Store*)>& step) {
  if (daemon_ == nullptr) return;
  daemon_->Begin(DaemonTime());
  step(daemon_.get());
  core::store::Effects effects = daemon_->End();
  const auto find = [this](core::WaiterId id) {
    return std::find_if(streams_.begin(), streams_.end(),
                        [id](const Stream& stream) { return stream.id == id; });
  };
  for (const core::StoreMessage& message : effects.messages) {
    const auto stream = find(message.stream);
    if (stream != streams_.end() && !stream->is_cut) {
      stream->down.push_back(WireResponseOf(message.message));
    }
  }
  for (const core::StreamEnd& end : effects.ends) {
    const auto stream = find(end.stream);
    if (stream == streams_.end()) continue;
    stream->daemon_knows_end = true;
    if (!std::exchange(stream->is_cut, true)) stream->end = end.status;
  }
}

SteadyTime StoreWorld::NextDeadline() const {
  SteadyTime next = SteadyTime::max();
  for (const ClientState& client : clients_) {
    if (client.core != nullptr) next = std::min(next, client.core->NextDeadline());
  }
  if (daemon_ == nullptr) return std::min(next, daemon_starts_at_);
  const absl::Time due = daemon_->NextDeadline();
  if (due == absl::InfiniteFuture()) return next;
  return std::min(next, now_ + absl::ToChronoNanoseconds(due - DaemonTime()));
}

void StoreWorld::TickAll() {
  StartDaemonIfDue();
  for (size_t i = 0; i < clients_.size(); ++i) {
    internal::StoreClientCore* const core = clients_[i].core.get();
    if (core != nullptr && core->NextDeadline() <= now_)
      Take(static_cast<int>(i), core->Tick(now_));
  }
  if (daemon_ != nullptr && daemon_->NextDeadline() <= DaemonTime()) {
    StepDaemon([](core::store::Store*) {});
  }
}

void StoreWorld::Advance(absl::Duration duration) {
  const SteadyTime end = internal::After(now_, duration);
  while (NextDeadline() <= end) {
    now_ = std::max(now_, NextDeadline());
    TickAll();
  }
  now_ = end;
}

void StoreWorld::Settle(absl::Duration duration) {
  const SteadyTime end = internal::After(now_, duration);
  while (true) {
    while (DeliverOne()) {
    }
    if (now_ >= end) return;
    now_ = std::min(end, std::max(now_, NextDeadline()));
    TickAll();
  }
}

// ---- Faults ----

void StoreWorld::Cut(Stream* stream) {
  if (std::exchange(stream->is_cut, true)) return;
  stream->up.resize(Random(stream->up.size() + 1));
  stream->down.resize(Random(stream->down.size() + 1));
}

void StoreWorld::CutStream() {
  if (streams_.empty()) return;
  Cut(&*std::next(streams_.begin(), static_cast<long>(Random(streams_.size()))));
}

void StoreWorld::RestartDaemon(absl::Duration after) {
  if (daemon_ == nullptr) return;
  Log("the daemon is killed");
  daemon_.reset();
  daemon_starts_at_ = internal::After(now_, after);
  for (Stream& stream : streams_) {
    Cut(&stream);
    stream.up.clear();
    stream.daemon_knows_end = true;
  }
}

void StoreWorld::Kill(int client, bool is_reported) {
  Log(absl::StrCat("client ", client, " is killed"));
  clients_[client].core.reset();
  for (Stream& stream : streams_) {
    if (stream.client == client) Cut(&stream);
  }
  if (!is_reported) return;
  StepDaemon([&](core::store::Store* store) {
    store->NoteEnded(clients_[client].id, "killed by signal 9 (SIGKILL)");
  });
}

}  // namespace muster
