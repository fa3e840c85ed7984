#include "tests/simulation/world/simulated_network.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/simulation/world/rpc_description.h"
#include "tests/simulation/world/tamper.h"

namespace muster::simulation {
namespace {

using core::WaiterId;

constexpr absl::Duration kNever = absl::InfiniteDuration();

size_t SizeOf(const internal::Response& response) {
  return std::visit([](const auto& r) { return r.ByteSizeLong(); }, response);
}

}  // namespace

Network::Network(uint64_t seed, SimulationState* simulation, WireTap* tap)
    : simulation_(simulation), tap_(tap), random_(seed, "network") {}

// ---- Towards the daemon ----

void Network::Send(ProcessId from, internal::SendCall send) {
  if (tampered_.count(from) > 0) Tamper(&random_, &send.request);
  auto flight = std::make_shared<Flight>();
  flight->rpc = {from, 0, send.attempt, std::move(send.request), false};
  Launch(std::move(flight));
}

void Network::Open(ProcessId from, internal::OpenStream open) {
  if (tampered_.count(from) > 0) Tamper(&random_, &open.request);
  auto flight = std::make_shared<Flight>();
  flight->rpc = {from, 0, open.attempt, std::move(open.request), false};
  Launch(std::move(flight));
}

void Network::Launch(FlightPtr flight) {
  at_clients_[{flight->rpc.process, flight->rpc.attempt}] = flight;
  flight->connection = Connect(flight->rpc.process);
  if (flight->connection == nullptr) {
    return EndAtClientLater(flight, random_.Between(absl::ZeroDuration(), absl::Milliseconds(20)),
                            absl::UnavailableError("failed to connect"));
  }
  flight->rpc.daemon = flight->connection->daemon;
  if (random_.Chance(conditions_.drop)) {
    simulation_->Trace("  lost: ", [&] { return Describe(flight->rpc); });
    return EndAtClientLater(flight, random_.Between(absl::ZeroDuration(), conditions_.lost_notice),
                            absl::UnavailableError("the request was lost"));
  }
  if (!flight->rpc.is_stream() && random_.Chance(conditions_.duplicate)) LaunchDuplicate(flight);
  simulation_->clock.After(Latency(), [this, flight] { Arrive(flight); });
}

// Sends the request a second time. The copy uses the same connection, and arrives before or after
// the original. Its answer is dropped. It ends when the connection ends, or when it is withdrawn.
void Network::LaunchDuplicate(const FlightPtr& flight) {
  auto copy = std::make_shared<Flight>();
  copy->rpc = flight->rpc;
  copy->rpc.duplicate = true;
  copy->ended = true;
  copy->connection = flight->connection;
  simulation_->clock.After(random_.Between(absl::ZeroDuration(), absl::Seconds(5)),
                           [this, copy] { Arrive(copy); });
  simulation_->clock.After(random_.Between(absl::Seconds(1), absl::Seconds(30)),
                           [this, copy] { CloseAtServer(copy); });
}

void Network::Arrive(const FlightPtr& flight) {
  Daemon* const daemon = daemons_[flight->rpc.daemon];
  if (!daemon->alive() || !GetsThrough(*flight->connection)) return;
  if (flight->rpc.duplicate && flight->connection->cut) return;
  if (flight->cancelled && random_.Chance(0.5))
    return;  // gRPC may have dropped it before it arrived
  if (daemon->paused_until() > simulation_->now()) {
    return simulation_->clock.At(daemon->paused_until(), [this, flight] { Arrive(flight); });
  }
  flight->waiter = ++last_waiter_;
  at_servers_[flight->waiter] = flight;
  simulation_->Trace("  daemon ", flight->rpc.daemon, " <- ",
                     [&] { return Describe(flight->rpc); });
  tap_->Arrived(flight->waiter, flight->rpc);
  const auto* attach = std::get_if<v1::AttachRequest>(&flight->rpc.request);
  if (attach != nullptr) {
    daemon->Attach(flight->waiter, *attach);
  } else {
    daemon->Call(flight->waiter, std::get<internal::Request>(flight->rpc.request));
  }
  if (flight->cancelled) CloseAtServer(flight);
  if (flight->connection->server_knows) {
    simulation_->clock.After(Latency(), [this, flight] { Close(flight); });
  }
}

void Network::Cancel(ProcessId from, uint64_t attempt) {
  const auto entry = at_clients_.find({from, attempt});
  if (entry == at_clients_.end()) return;
  const FlightPtr flight = entry->second;
  EndAtClientLater(flight, absl::ZeroDuration(), absl::CancelledError("CANCELLED"));
  CloseAtServer(flight);
}

// Tells the daemon that the caller has gone.
void Network::CloseAtServer(const FlightPtr& flight) {
  flight->cancelled = true;
  if (flight->connection == nullptr) return;
  simulation_->clock.After(Latency(), [this, flight] {
    if (GetsThrough(*flight->connection)) Close(flight);
  });
}

void Network::Close(const FlightPtr& flight) {
  Daemon* const daemon = daemons_[flight->rpc.daemon];
  if (!daemon->alive()) return;
  if (daemon->paused_until() > simulation_->now()) {
    return simulation_->clock.At(daemon->paused_until(), [this, flight] { Close(flight); });
  }
  if (at_servers_.erase(flight->waiter) == 0) return;
  simulation_->Trace("  daemon ", flight->rpc.daemon,
                     " <- closed: ", [&] { return Describe(flight->rpc); });
  tap_->Withdrawn(flight->waiter, flight->rpc);
  if (flight->rpc.is_stream()) {
    daemon->CloseStream(flight->waiter);
  } else {
    daemon->Cancel(flight->waiter);
  }
}

// ---- Towards the process ----

Network::FlightPtr Network::TakeFlight(WaiterId waiter, const absl::Status& status,
                                       const internal::Response& response) {
  const auto entry = at_servers_.extract(waiter);
  const FlightPtr flight = entry.mapped();
  simulation_->Trace(
      "  daemon ", flight->rpc.daemon, " -> ", [&] { return Describe(flight->rpc); }, ": ", status);
  tap_->Answered(waiter, flight->rpc, status, response);
  return flight;
}

void Network::Reply(WaiterId waiter, absl::Status status, internal::Response response) {
  const FlightPtr flight = TakeFlight(waiter, status, response);
  if (status.ok()) {
    for (SimulatedClock::Event& event : std::exchange(on_next_answer_, {})) {
      simulation_->clock.After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(2)),
                               std::move(event));
    }
  }
  if (status.ok() && SizeOf(response) > most_bytes_) {
    status = absl::DataLossError("the reply is larger than a message may be");
    response = {};
  }
  if (random_.Chance(conditions_.drop)) {
    return EndAtClientLater(flight, random_.Between(absl::ZeroDuration(), conditions_.lost_notice),
                            absl::UnavailableError("the reply was lost"));
  }
  simulation_->clock.After(Latency(), [this, flight, status, response = std::move(response)] {
    if (GetsThrough(*flight->connection)) EndAtClient(flight, status, response);
  });
}

void Network::Event(WaiterId stream, v1::AttachResponse response) {
  const FlightPtr flight = at_servers_.at(stream);
  if (response.has_need_roster()) {
    for (auto& event : std::exchange(on_next_roster_request_, {})) {
      simulation_->clock.After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(4)),
                               [event, asked = flight->rpc.process] { event(asked); });
    }
  }
  if (response.has_attached()) tap_->Registered(flight->rpc, response.attached().session());
  simulation_->Trace(
      "  daemon ", flight->rpc.daemon, " -> ", [&] { return Describe(flight->rpc); }, ": ",
      [&] { return Describe(response); });
  DeliverInOrder(flight, [this, response = std::move(response)](const FlightPtr& to) {
    if (to->ended) return;
    processes_[to->rpc.process]->OnStreamResponse(to->rpc.attempt, response);
  });
}

void Network::End(WaiterId stream, absl::Status status) {
  const FlightPtr flight = TakeFlight(stream, status, {});
  DeliverInOrder(flight, [this, status](const FlightPtr& to) { EndAtClient(to, status); });
}

// Delivers a stream's events in order, even if the process is stopped several times meanwhile.
void Network::DeliverInOrder(const FlightPtr& flight, StreamItem item) {
  flight->undelivered.push_back(std::move(item));
  simulation_->clock.At(EventTime(flight.get()), [this, flight] { DeliverNext(flight); });
}

void Network::DeliverNext(const FlightPtr& flight) {
  Process* const process = processes_[flight->rpc.process];
  if (flight->connection->cut || !process->alive()) return;
  if (process->paused_until() > simulation_->now()) {
    return simulation_->clock.At(process->paused_until(), [=] { DeliverNext(flight); });
  }
  const StreamItem next = std::move(flight->undelivered.front());
  flight->undelivered.pop_front();
  next(flight);
}

void Network::EndAtClientLater(const FlightPtr& flight, absl::Duration delay, absl::Status status) {
  simulation_->clock.After(delay, [=] { EndAtClient(flight, status); });
}

void Network::EndAtClient(const FlightPtr& flight, const absl::Status& status,
                          internal::Response response) {
  Process* const process = processes_[flight->rpc.process];
  if (flight->ended || !process->alive()) return;
  if (process->paused_until() > simulation_->now()) {
    return simulation_->clock.At(process->paused_until(),
                                 [=] { EndAtClient(flight, status, response); });
  }
  flight->ended = true;
  at_clients_.erase({flight->rpc.process, flight->rpc.attempt});
  if (flight->rpc.is_stream()) {
    process->OnStreamEnd(flight->rpc.attempt, status);
  } else {
    process->OnReply(flight->rpc.attempt, status, std::move(response));
  }
}

// ---- Connections ----

std::shared_ptr<Network::Connection> Network::Connect(ProcessId process) {
  std::shared_ptr<Connection>& connection = connections_[process];
  if (connection != nullptr) return connection;
  const std::optional<DaemonId> daemon = Reaches(process);
  if (!daemon) return nullptr;
  connection = std::make_shared<Connection>(Connection{process, *daemon});
  return connection;
}

std::optional<DaemonId> Network::Reaches(ProcessId process) const {
  const auto route = routes_.find(process);
  if (route == routes_.end() || !IsAlive(route->second) || cut_off_.count(process) > 0) {
    return std::nullopt;
  }
  return route->second;
}

void Network::Route(ProcessId process, DaemonId daemon) {
  routes_[process] = daemon;
  Cut(process);
}

DaemonId Network::RouteOf(ProcessId process) const { return routes_.at(process); }

bool Network::Connected(ProcessId process) const {
  const auto connection = connections_.find(process);
  return connection != connections_.end() && connection->second != nullptr &&
         !connection->second->cut;
}

void Network::Cut(ProcessId process) {
  if (watcher_ != nullptr) watcher_->OnCut(process);
  const std::shared_ptr<Connection> connection = connections_[process];
  if (connection == nullptr) return;
  simulation_->Trace("the connection of process ", process, " is cut");
  CutConnection(connection, random_.Between(absl::ZeroDuration(), conditions_.notice),
                random_.Between(absl::ZeroDuration(), conditions_.notice));
}

void Network::CutOff(ProcessId process) {
  cut_off_.insert(process);
  Cut(process);
}

void Network::ProcessGone(ProcessId process, absl::Duration notice) {
  if (watcher_ != nullptr) watcher_->OnProcessGone(process, notice);
  const std::shared_ptr<Connection> connection = connections_[process];
  if (connection != nullptr) {
    CutConnection(connection, kNever, random_.Between(absl::ZeroDuration(), notice));
  }
}

void Network::DaemonGone(DaemonId daemon, absl::Duration notice) {
  if (watcher_ != nullptr) watcher_->OnDaemonGone(daemon, notice);
  for (const auto& [process, connection] : connections_) {
    if (connection == nullptr || connection->daemon != daemon) continue;
    CutConnection(connection, random_.Between(absl::ZeroDuration(), notice), kNever);
  }
}

void Network::CutConnection(const std::shared_ptr<Connection>& connection,
                            absl::Duration client_learns, absl::Duration server_learns) {
  connection->cut = true;
  if (client_learns != kNever) {
    simulation_->clock.After(client_learns, [=] { ClientLearns(connection); });
  }
  if (server_learns != kNever) {
    simulation_->clock.After(server_learns, [=] { ServerLearns(connection); });
  }
}

void Network::ClientLearns(const std::shared_ptr<Connection>& connection) {
  if (std::exchange(connection->client_knows, true)) return;
  if (connections_[connection->process] == connection) connections_[connection->process].reset();
  std::vector<FlightPtr> flights;
  for (const auto& [key, flight] : at_clients_) {
    if (flight->connection == connection) flights.push_back(flight);
  }
  for (const FlightPtr& flight : flights) {
    EndAtClient(flight, absl::UnavailableError("Socket closed"));
  }
}

void Network::ServerLearns(const std::shared_ptr<Connection>& connection) {
  if (std::exchange(connection->server_knows, true)) return;
  std::vector<FlightPtr> flights;
  for (const auto& [waiter, flight] : at_servers_) {
    if (flight->connection == connection) flights.push_back(flight);
  }
  // The daemon's threads learn of the calls one by one, in any order.
  for (const FlightPtr& flight : flights) {
    simulation_->clock.After(Latency(), [this, flight] { Close(flight); });
  }
}

bool Network::GetsThrough(const Connection& connection) {
  return !connection.cut || random_.Chance(0.3);
}

// ---- Delays ----

absl::Duration Network::Latency() {
  if (random_.Chance(conditions_.slow))
    return random_.Between(absl::ZeroDuration(), conditions_.slowest);
  return random_.Between(absl::Microseconds(50), absl::Milliseconds(2));
}

absl::Duration Network::EventTime(Flight* flight) {
  flight->last_of_stream = std::max(flight->last_of_stream, simulation_->now() + Latency());
  return flight->last_of_stream;
}

bool Network::IsAlive(DaemonId daemon) const {
  const auto entry = daemons_.find(daemon);
  return entry != daemons_.end() && entry->second->alive();
}

}  // namespace muster::simulation
