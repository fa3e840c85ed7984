#ifndef MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_WORLD_H_
#define MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_WORLD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/src/protocol/store/store_client_core.h"
#include "server/core/store/store.h"

namespace muster {

// Clients of the store and their daemon, on simulated time, with a network that the caller breaks:
//
//   StoreWorld world(seed, 3, [](int client, internal::StoreEffects& effects) { ... });
//   world.Begin(0, operation, absl::Seconds(10));
//   while (...) world.DeliverOne();
//   world.RestartDaemon();
//   world.Settle(absl::Minutes(5));
//
// Each message waits in the queue of its stream until it is delivered. Streams are independent of
// each other, and so are the two directions of a stream.
class StoreWorld {
 public:
  // Gets the completions and events of each step of a client.
  using Observer = std::function<void(int client, const internal::StoreEffects& effects)>;

  StoreWorld(uint64_t seed, int clients, Observer observer);

  // ---- Programs ----
  // Returns the id of the client's next operation or watch.
  internal::StoreCallId next_id(int client) const { return clients_[client].next_id; }
  void Begin(int client, const v1::StoreOperation& operation, absl::Duration timeout);
  void Watch(int client, const std::string& prefix);
  void Cancel(int client, internal::StoreCallId id);
  // The program ends, and its client leaves the store.
  void Leave(int client);

  // ---- Network and time ----
  // Delivers the next message, or the end, of a random stream. Returns false if there is nothing.
  bool DeliverOne();
  void Advance(absl::Duration duration);
  // Delivers everything for that long, without faults.
  void Settle(absl::Duration duration);

  // ---- Faults ----
  // Ends a random stream. Some of the messages on their way still arrive, on either side.
  void CutStream();
  // Kills the daemon. A new one starts without state, after this time.
  void RestartDaemon(absl::Duration after);
  // Kills a client. The daemon may hear of it from the launcher.
  void Kill(int client, bool is_reported);

  bool is_alive(int client) const { return clients_[client].core != nullptr; }
  const internal::StoreClientCore& core(int client) const { return *clients_[client].core; }
  const core::store::Store& daemon() const { return *daemon_; }
  uint64_t Random(uint64_t below) { return random_() % below; }

 private:
  struct ClientState {
    std::string id;
    std::unique_ptr<internal::StoreClientCore> core;  // null if the client is dead
    internal::StoreCallId next_id = 1;
  };
  // A stream until both sides know its end.
  struct Stream {
    int client = 0;
    uint64_t attempt = 0;
    core::WaiterId id = 0;
    std::deque<std::optional<v1::StoreRequest>> up;  // nullopt: the client's end of the stream
    std::deque<v1::StoreResponse> down;
    bool is_cut = false;  // what is sent from now on is lost
    bool daemon_knows_end = false;
    bool client_knows_end = false;
    absl::Status end = absl::UnavailableError("the connection was cut");
  };

  // Prints a line if MUSTER_TEST_LOG is set.
  void Log(const std::string& line) const;
  void Take(int client, internal::StoreEffects effects);
  void Do(int client, const internal::OpenStoreStream& open);
  void Do(int client, const internal::SendToStore& send);
  void Do(int client, const internal::LeaveStoreStream& leave);
  void Do(int client, const internal::CancelStoreStream& cancel);
  void Do(int client, const internal::WarnOfStore& line);
  Stream* Find(int client, uint64_t attempt);

  bool HasForDaemon(const Stream& stream) const;
  bool HasForClient(const Stream& stream) const;
  void DeliverToDaemon(Stream* stream);
  void DeliverToClient(Stream* stream);
  void Cut(Stream* stream);
  void StartDaemonIfDue();
  // Runs a step of the daemon.
  void StepDaemon(const std::function<void(core::store::Store*)>& step);
  void TickAll();
  internal::SteadyTime NextDeadline() const;
  absl::Time DaemonTime() const;

  std::mt19937_64 random_;
  const Observer observer_;
  internal::SteadyTime now_;
  std::vector<ClientState> clients_;
  std::list<Stream> streams_;
  core::WaiterId next_stream_ = 1;
  core::ByteBudget budget_{1 << 30};
  std::unique_ptr<core::store::Store> daemon_;  // null while it is down
  uint64_t daemons_ = 0;
  internal::SteadyTime daemon_starts_at_;
};

}  // namespace muster

#endif  // MUSTER_TESTS_CLIENT_PROTOCOL_STORE_STORE_WORLD_H_
