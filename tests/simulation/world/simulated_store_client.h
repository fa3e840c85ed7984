#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_CLIENT_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/src/protocol/store/store_client_core.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The client of the job's store in one process: the SDK's StoreClientCore on simulated time. It
// stops and dies with its process. Checks that every operation ends once.
class StoreClient {
 public:
  // The client's streams to the coordinator.
  class Wire {
   public:
    virtual ~Wire() = default;
    // Opens a stream, which must end with exactly one OnStreamEnd(), unless the process dies.
    virtual void Open(ProcessId from, uint64_t attempt) = 0;
    virtual void Send(ProcessId from, uint64_t attempt, v1::StoreRequest request) = 0;
    // Ends the client's side of the stream.
    virtual void Leave(ProcessId from, uint64_t attempt) = 0;
    virtual void Cancel(ProcessId from, uint64_t attempt) = 0;
  };

  // The pointers must outlive this.
  StoreClient(const Process* process, internal::StoreClientOptions options,
              SimulationState* simulation, Wire* wire);
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // Begins an operation. `done` must not begin another one before it returns.
  using Done = std::function<void(absl::StatusOr<v1::StoreAnswer>)>;
  internal::StoreCallId Begin(v1::StoreOperation operation, absl::Duration timeout, Done done);
  void Cancel(internal::StoreCallId id);
  // Leaves the store, because the process is about to end. Drops all operations.
  void Stop();

  // Called by the network.
  void OnMessage(uint64_t attempt, v1::StoreResponse message);
  void OnStreamEnd(uint64_t attempt, const absl::Status& status);

  const Process& process() const { return process_; }
  bool alive() const { return process_.alive(); }
  // Names the operations that have not ended; empty if there are none.
  std::string Waiting() const;

 private:
  struct Open {
    std::string what;
    absl::Duration begun;
    Done done;
  };

  void Apply(internal::StoreEffects effects);
  void Do(const internal::OpenStoreStream& open);
  void Do(const internal::SendToStore& send);
  void Do(const internal::LeaveStoreStream& leave);
  void Do(const internal::CancelStoreStream& cancel);
  void Do(const internal::WarnOfStore& warning);
  void Finish(internal::StoreCompletion completion);
  void Arm();
  void Ring(internal::SteadyTime due);
  internal::SteadyTime Now() const;

  const Process& process_;
  SimulationState* const simulation_;
  Wire* const wire_;
  internal::StoreClientCore core_;
  bool stopped_ = false;
  internal::SteadyTime armed_ = internal::SteadyTime::max();
  internal::StoreCallId next_id_ = 1;
  std::map<internal::StoreCallId, Open> operations_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_STORE_CLIENT_H_
