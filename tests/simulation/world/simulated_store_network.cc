#include "tests/simulation/world/simulated_store_network.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::simulation {
namespace {

// The end has gone, and learns of nothing.
constexpr absl::Duration kHasGone = absl::InfiniteDuration();

}  // namespace

// ---- Towards the daemon ----

void StoreNetwork::Open(ProcessId from, uint64_t attempt) {
  const std::optional<DaemonId> daemon = network_.Reaches(from);
  auto stream = std::make_shared<Stream>();
  stream->process = from;
  stream->daemon = daemon.value_or(0);
  stream->attempt = attempt;
  stream->id = ++last_id_;
  streams_[stream->id] = stream;
  if (daemon) return;
  stream->cut = stream->daemon_knows_end = true;
  simulation_->clock.After(
      random_.Between(absl::ZeroDuration(), absl::Milliseconds(20)),
      [this, stream] { EndAtClient(stream, absl::UnavailableError("failed to connect")); });
}

StoreNetwork::StreamPtr StoreNetwork::Find(ProcessId process, uint64_t attempt) const {
  for (auto entry = streams_.rbegin(); entry != streams_.rend(); ++entry) {
    const StreamPtr& stream = entry->second;
    if (stream->process == process && stream->attempt == attempt) return stream;
  }
  return nullptr;
}

void StoreNetwork::Send(ProcessId from, uint64_t attempt, v1::StoreRequest request) {
  if (const StreamPtr stream = Find(from, attempt)) SendUp(stream, std::move(request));
}

void StoreNetwork::Leave(ProcessId from, uint64_t attempt) {
  if (const StreamPtr stream = Find(from, attempt)) SendUp(stream, std::nullopt);
}

void StoreNetwork::SendUp(const StreamPtr& stream, std::optional<v1::StoreRequest> request) {
  if (stream->cut) return;
  stream->up.push_back(std::move(request));
  stream->last_up = std::max(stream->last_up, simulation_->now() + Latency());
  simulation_->clock.At(stream->last_up, [this, stream] { DeliverUp(stream); });
  MayBreak(stream);
}

void StoreNetwork::DeliverUp(const StreamPtr& stream) {
  Daemon* const daemon = daemons_[stream->daemon];
  if (stream->up.empty() || stream->daemon_knows_end || !daemon->alive()) return;
  if (daemon->paused_until() > simulation_->now()) {
    return simulation_->clock.At(daemon->paused_until(), [this, stream] { DeliverUp(stream); });
  }
  const std::optional<v1::StoreRequest> request = std::move(stream->up.front());
  stream->up.pop_front();
  simulation_->Trace("  daemon ", stream->daemon, " <- store of process ", stream->process, ": ",
                     [&] { return request ? request->ShortDebugString() : "it leaves"; });
  if (request) {
    daemon->ReceiveStore(stream->id, *request);
  } else {
    daemon->LeaveStore(stream->id);
  }
}

void StoreNetwork::Cancel(ProcessId from, uint64_t attempt) {
  const StreamPtr stream = Find(from, attempt);
  if (stream == nullptr || stream->cut) return;
  stream->down.clear();
  Cut(stream, absl::ZeroDuration(), Latency());
}

// ---- Towards the process ----

void StoreNetwork::StoreMessage(core::WaiterId stream, v1::StoreResponse message) {
  SendDown(streams_.at(stream), std::move(message));
}

void StoreNetwork::StoreEnd(core::WaiterId stream, absl::Status status) {
  const StreamPtr ended = streams_.at(stream);
  simulation_->Trace("  daemon ", ended->daemon, " -> store of process ", ended->process,
                     ": the end: ", status);
  ended->end = std::move(status);
  ended->daemon_knows_end = true;
  ended->up.clear();
  SendDown(ended, std::nullopt);
}

void StoreNetwork::SendDown(const StreamPtr& stream, std::optional<v1::StoreResponse> message) {
  if (stream->cut) return;
  if (message) {
    simulation_->Trace("  daemon ", stream->daemon, " -> store of process ", stream->process, ": ",
                       [&] { return message->ShortDebugString(); });
  }
  stream->down.push_back(std::move(message));
  stream->last_down = std::max(stream->last_down, simulation_->now() + Latency());
  simulation_->clock.At(stream->last_down, [this, stream] { DeliverDown(stream); });
  MayBreak(stream);
}

void StoreNetwork::DeliverDown(const StreamPtr& stream) {
  StoreClient* const client = clients_[stream->process];
  if (stream->down.empty() || stream->client_knows_end || !client->alive()) return;
  const absl::Duration paused_until = client->process().paused_until();
  if (paused_until > simulation_->now()) {
    return simulation_->clock.At(paused_until, [this, stream] { DeliverDown(stream); });
  }
  std::optional<v1::StoreResponse> message = std::move(stream->down.front());
  stream->down.pop_front();
  if (!message) return EndAtClient(stream, stream->end);
  client->OnMessage(stream->attempt, *std::move(message));
}

void StoreNetwork::EndAtClient(const StreamPtr& stream, const absl::Status& status) {
  StoreClient* const client = clients_[stream->process];
  if (stream->client_knows_end || !client->alive()) return;
  const absl::Duration paused_until = client->process().paused_until();
  if (paused_until > simulation_->now()) {
    return simulation_->clock.At(paused_until, [=] { EndAtClient(stream, status); });
  }
  stream->client_knows_end = true;
  Drop(stream);
  client->OnStreamEnd(stream->attempt, status);
}

void StoreNetwork::EndAtDaemon(const StreamPtr& stream) {
  Daemon* const daemon = daemons_[stream->daemon];
  if (stream->daemon_knows_end || !daemon->alive()) return;
  if (daemon->paused_until() > simulation_->now()) {
    return simulation_->clock.At(daemon->paused_until(), [this, stream] { EndAtDaemon(stream); });
  }
  stream->daemon_knows_end = true;
  Drop(stream);
  daemon->CloseStore(stream->id);
}

void StoreNetwork::Drop(const StreamPtr& stream) {
  if (stream->daemon_knows_end && stream->client_knows_end) streams_.erase(stream->id);
}

// ---- Connections ----

void StoreNetwork::Cut(const StreamPtr& stream, absl::Duration client_learns,
                       absl::Duration daemon_learns) {
  if (std::exchange(stream->cut, true)) return;
  stream->up.resize(random_.Pick(static_cast<uint32_t>(stream->up.size()) + 1));
  stream->down.resize(random_.Pick(static_cast<uint32_t>(stream->down.size()) + 1));
  if (client_learns != kHasGone) {
    simulation_->clock.After(client_learns, [this, stream] {
      EndAtClient(stream, absl::UnavailableError("Socket closed"));
    });
  }
  if (daemon_learns != kHasGone) {
    simulation_->clock.After(daemon_learns, [this, stream] { EndAtDaemon(stream); });
  }
}

// A stream may end alone, without its connection.
void StoreNetwork::MayBreak(const StreamPtr& stream) {
  if (!random_.Chance(network_.conditions().drop / 5)) return;
  simulation_->Trace("the store's stream of process ", stream->process, " breaks");
  Cut(stream, Notice(), Notice());
}

void StoreNetwork::OnCut(ProcessId process) {
  for (const auto& [id, stream] : std::map(streams_)) {
    if (stream->process == process) Cut(stream, Notice(), Notice());
  }
}

void StoreNetwork::OnProcessGone(ProcessId process, absl::Duration notice) {
  for (const auto& [id, stream] : std::map(streams_)) {
    if (stream->process == process) {
      Cut(stream, kHasGone, random_.Between(absl::ZeroDuration(), notice));
    }
  }
}

void StoreNetwork::OnDaemonGone(DaemonId daemon, absl::Duration notice) {
  for (const auto& [id, stream] : std::map(streams_)) {
    if (stream->daemon != daemon) continue;
    Cut(stream, random_.Between(absl::ZeroDuration(), notice), kHasGone);
    stream->daemon_knows_end = true;
  }
}

absl::Duration StoreNetwork::Latency() {
  const NetworkConditions& conditions = network_.conditions();
  if (random_.Chance(conditions.slow))
    return random_.Between(absl::ZeroDuration(), conditions.slowest);
  return random_.Between(absl::Microseconds(50), absl::Milliseconds(2));
}

}  // namespace muster::simulation
