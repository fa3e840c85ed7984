#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NETWORK_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/protocol/messages/member_effects.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_daemon.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// An RPC in flight. Its process knows it by its attempt, and the daemon by a waiter id.
struct SentRpc {
  ProcessId process = 0;
  DaemonId daemon = 0;
  uint64_t attempt = 0;
  std::variant<v1::AttachRequest, internal::Request> request;
  bool duplicate = false;  // its answer is dropped

  bool is_stream() const { return std::holds_alternative<v1::AttachRequest>(request); }
};

// An observer of what reaches and leaves a daemon, before the network can lose it.
class WireTap {
 public:
  virtual ~WireTap() = default;
  // A request has arrived at a daemon.
  virtual void Arrived(core::WaiterId waiter, const SentRpc& rpc) = 0;
  // The daemon has answered a call.
  virtual void Answered(core::WaiterId waiter, const SentRpc& rpc, const absl::Status& status,
                        const internal::Response& response) = 0;
  // The daemon has registered the caller of an Attach call.
  virtual void Registered(const SentRpc& rpc, const v1::SessionId& session) = 0;
  // The daemon has learned that the caller has gone.
  virtual void Withdrawn(core::WaiterId waiter, const SentRpc& rpc) = 0;
};

// An observer of the ends of connections.
class ConnectionWatcher {
 public:
  virtual ~ConnectionWatcher() = default;
  virtual void OnCut(ProcessId process) = 0;
  // One end has ended. The other end notices within `notice`.
  virtual void OnProcessGone(ProcessId process, absl::Duration notice) = 0;
  virtual void OnDaemonGone(DaemonId daemon, absl::Duration notice) = 0;
};

// A network that behaves as gRPC does. Each process has one connection, to the daemon that the
// coordinator's name resolves to. If a connection is cut, messages in flight are lost, and each end
// notices on its own. Unary calls and cancels overtake one another; the events of a stream do not.
// Every send ends exactly once at its process.
class Network : public Process::Wire, public Daemon::Sink {
 public:
  // `simulation` and `tap` must outlive this.
  Network(uint64_t seed, SimulationState* simulation, WireTap* tap);

  void set_conditions(const NetworkConditions& conditions) { conditions_ = conditions; }
  const NetworkConditions& conditions() const { return conditions_; }
  void set_watcher(ConnectionWatcher* watcher) { watcher_ = watcher; }

  // Refuses larger answers from now on.
  void set_most_bytes(size_t bytes) { most_bytes_ = bytes; }
  // Changes what this process sends from now on. No observer is told.
  void TamperWith(ProcessId process) { tampered_.insert(process); }

  void Add(Process* process) { processes_[process->id()] = process; }
  void Add(DaemonId id, Daemon* daemon) { daemons_[id] = daemon; }
  // Resolves the coordinator's name to this daemon for the process from now on. Cuts its
  // connection.
  void Route(ProcessId process, DaemonId daemon);
  DaemonId RouteOf(ProcessId process) const;
  bool Connected(ProcessId process) const;
  // Returns the daemon that a new connection of the process would go to, or nullopt if none works.
  std::optional<DaemonId> Reaches(ProcessId process) const;

  // Runs `event` once, just after a daemon has sent its next successful answer to a call. At that
  // time, some of the answers of one step have arrived and others have not.
  void OnNextAnswer(SimulatedClock::Event event) { on_next_answer_.push_back(std::move(event)); }

  // Runs `event` once, with the next process that a daemon asks for the roster.
  void OnNextRosterRequest(std::function<void(ProcessId)> event) {
    on_next_roster_request_.push_back(std::move(event));
  }

  // Cuts the connection of a process; both ends learn of it within NetworkConditions::notice.
  void Cut(ProcessId process);
  // Cuts the connection as Cut() does. No new connection works before Heal().
  void CutOff(ProcessId process);
  void Heal(ProcessId process) { cut_off_.erase(process); }
  // Tells the network that one end has ended. The other end notices within `notice`.
  void ProcessGone(ProcessId process, absl::Duration notice);
  void DaemonGone(DaemonId daemon, absl::Duration notice);

  // Process::Wire:
  void Send(ProcessId from, internal::SendCall send) override;
  void Open(ProcessId from, internal::OpenStream open) override;
  void Cancel(ProcessId from, uint64_t attempt) override;

  // Daemon::Sink:
  void Reply(core::WaiterId waiter, absl::Status status, internal::Response response) override;
  void Event(core::WaiterId stream, v1::AttachResponse response) override;
  void End(core::WaiterId stream, absl::Status status) override;

 private:
  struct Connection {
    ProcessId process;
    DaemonId daemon;
    bool cut = false;
    bool client_knows = false;
    bool server_knows = false;
  };
  struct Flight;
  using FlightPtr = std::shared_ptr<Flight>;
  using StreamItem = std::function<void(const FlightPtr&)>;  // an event, or the end
  struct Flight {
    SentRpc rpc;
    std::shared_ptr<Connection> connection;
    core::WaiterId waiter = 0;  // set once it has arrived
    bool cancelled = false;
    bool ended = false;             // at the process
    absl::Duration last_of_stream;  // when its latest event arrives
    std::deque<StreamItem> undelivered;
  };

  // Towards the daemon.
  void Launch(FlightPtr flight);
  void Arrive(const FlightPtr& flight);
  void LaunchDuplicate(const FlightPtr& flight);
  void CloseAtServer(const FlightPtr& flight);
  void Close(const FlightPtr& flight);
  // Towards the process.
  void EndAtClient(const FlightPtr& flight, const absl::Status& status,
                   internal::Response response = {});
  void EndAtClientLater(const FlightPtr& flight, absl::Duration delay, absl::Status status);
  void DeliverInOrder(const FlightPtr& flight, StreamItem item);
  void DeliverNext(const FlightPtr& flight);
  FlightPtr TakeFlight(core::WaiterId waiter, const absl::Status& status,
                       const internal::Response& response);

  std::shared_ptr<Connection> Connect(ProcessId process);
  void CutConnection(const std::shared_ptr<Connection>& connection, absl::Duration client_learns,
                     absl::Duration server_learns);
  void ClientLearns(const std::shared_ptr<Connection>& connection);
  void ServerLearns(const std::shared_ptr<Connection>& connection);
  // Returns whether a message in flight on a cut connection still arrives.
  bool GetsThrough(const Connection& connection);

  absl::Duration Latency();
  absl::Duration EventTime(Flight* flight);
  bool IsAlive(DaemonId daemon) const;

  SimulationState* const simulation_;
  WireTap* const tap_;
  ConnectionWatcher* watcher_ = nullptr;
  Random random_;
  NetworkConditions conditions_;
  std::map<ProcessId, Process*> processes_;
  std::map<DaemonId, Daemon*> daemons_;
  std::map<ProcessId, DaemonId> routes_;
  std::set<ProcessId> cut_off_;
  std::set<ProcessId> tampered_;
  size_t most_bytes_ = std::numeric_limits<size_t>::max();
  std::map<ProcessId, std::shared_ptr<Connection>> connections_;
  std::vector<SimulatedClock::Event> on_next_answer_;
  std::vector<std::function<void(ProcessId)>> on_next_roster_request_;
  core::WaiterId last_waiter_ = 0;
  std::map<std::pair<ProcessId, uint64_t>, FlightPtr> at_clients_;  // by attempt
  std::map<core::WaiterId, FlightPtr> at_servers_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NETWORK_H_
