#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_STORE_PROGRAM_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_STORE_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/v1/store.pb.h"
#include "tests/simulation/program/program_state.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/simulated_store_client.h"

namespace muster::simulation {

// The part of a program that uses the job's store, beside the collectives and over all epochs. It
// makes two operations at a time, which it draws from a random stream of its own. At the end, all
// processes meet in a barrier, if none can be lost. Then the program reads what all have made.
class StoreProgram {
 public:
  // The pointers must outlive this. `on_done` is called once.
  StoreProgram(ProgramState* program_state, StoreClient* client, std::function<void()> on_done);

  void Start();
  // Returns whether it has ended all operations, or its client counts as lost.
  bool done() const { return done_; }
  // The process is about to end.
  void Stop() { client_.Stop(); }

 private:
  using Done = std::function<void(const absl::StatusOr<v1::StoreAnswer>&)>;

  void Next();
  void Begin(v1::StoreOperation operation, absl::Duration timeout, Done done);
  v1::StoreOperation Draw();
  absl::Duration DrawTimeout();
  void MayCancel(internal::StoreCallId id);
  void MeetAll();
  void ReadAll();
  void PopAll();
  void End(bool finished);
  std::string NewToken();
  std::string KeyAmong(const char* prefix, uint32_t keys);

  ProgramState& program_state_;
  StoreClient& client_;
  const std::function<void()> on_done_;
  Random random_;
  int steps_;
  int open_ = 0;
  int tokens_ = 0;
  int retries_ = 0;
  std::string token_;       // of the latest operation
  std::string last_chain_;  // the latest value that was seen
  bool done_ = false;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_STORE_PROGRAM_H_
