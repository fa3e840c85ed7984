#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_NETWORK_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_NETWORK_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_daemon.h"
#include "tests/simulation/world/simulated_network.h"
#include "tests/simulation/world/simulated_store_client.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The streams of the store between processes and daemons. They go where the network goes, and are
// cut when it is. Both directions of a stream keep their order. A cut loses what is last in each
// direction, and the ends notice on their own. All choices come from a random stream of their own,
// so that the calls of members take the course that they take without the store.
class StoreNetwork : public StoreClient::Wire, public Daemon::StoreSink, public ConnectionWatcher {
 public:
  // Both pointers must outlive this.
  StoreNetwork(uint64_t seed, SimulationState* simulation, const Network* network)
      : simulation_(simulation), network_(*network), random_(seed, "store network") {}

  void Add(StoreClient* client) { clients_[client->process().id()] = client; }
  void Add(DaemonId id, Daemon* daemon) { daemons_[id] = daemon; }

  // StoreClient::Wire:
  void Open(ProcessId from, uint64_t attempt) override;
  void Send(ProcessId from, uint64_t attempt, v1::StoreRequest request) override;
  void Leave(ProcessId from, uint64_t attempt) override;
  void Cancel(ProcessId from, uint64_t attempt) override;

  // Daemon::StoreSink:
  void StoreMessage(core::WaiterId stream, v1::StoreResponse message) override;
  void StoreEnd(core::WaiterId stream, absl::Status status) override;

  // ConnectionWatcher:
  void OnCut(ProcessId process) override;
  void OnProcessGone(ProcessId process, absl::Duration notice) override;
  void OnDaemonGone(DaemonId daemon, absl::Duration notice) override;

 private:
  // A stream until both sides know its end.
  struct Stream {
    ProcessId process = 0;
    DaemonId daemon = 0;  // 0: none can be reached
    uint64_t attempt = 0;
    core::WaiterId id = 0;
    std::deque<std::optional<v1::StoreRequest>> up;     // nullopt: the client has left
    std::deque<std::optional<v1::StoreResponse>> down;  // nullopt: the daemon has ended it
    absl::Duration last_up;                             // when the latest message arrives
    absl::Duration last_down;
    bool cut = false;  // what is sent from now on is lost
    bool daemon_knows_end = false;
    bool client_knows_end = false;
    absl::Status end;  // of the daemon
  };
  using StreamPtr = std::shared_ptr<Stream>;

  StreamPtr Find(ProcessId process, uint64_t attempt) const;
  void SendUp(const StreamPtr& stream, std::optional<v1::StoreRequest> request);
  void SendDown(const StreamPtr& stream, std::optional<v1::StoreResponse> message);
  void DeliverUp(const StreamPtr& stream);
  void DeliverDown(const StreamPtr& stream);
  void EndAtClient(const StreamPtr& stream, const absl::Status& status);
  void EndAtDaemon(const StreamPtr& stream);
  void Drop(const StreamPtr& stream);
  // Infinite: this end has gone.
  void Cut(const StreamPtr& stream, absl::Duration client_learns, absl::Duration daemon_learns);
  void MayBreak(const StreamPtr& stream);
  absl::Duration Latency();
  absl::Duration Notice() {
    return random_.Between(absl::ZeroDuration(), network_.conditions().notice);
  }

  SimulationState* const simulation_;
  const Network& network_;
  Random random_;
  std::map<ProcessId, StoreClient*> clients_;
  std::map<DaemonId, Daemon*> daemons_;
  core::WaiterId last_id_ = core::WaiterId{1} << 51;  // beyond those of calls
  std::map<core::WaiterId, StreamPtr> streams_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_NETWORK_H_
