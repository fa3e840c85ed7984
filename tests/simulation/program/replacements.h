#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_REPLACEMENTS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_REPLACEMENTS_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "client/src/protocol/messages/member_requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_daemon.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The invariants of replaced processes, as counted from the rosters of epochs alone:
//   - The job replaces no more processes than its limit allows.
//   - A daemon, restarted or not, tells at least the count of the earlier epochs that its members
//     were in, and at most the number of processes that have ever come into an epoch.
//   - It tells all members of an epoch the same count.
class Replacements {
 public:
  // Both must outlive this.
  Replacements(const Setting* setting, SimulationState* simulation)
      : setting_(setting), simulation_(simulation) {}

  // Called for each answer of a daemon; see WireTap. Only answers with a place in an epoch count.
  void Answered(DaemonId daemon, const absl::Status& status, const internal::Response& response);
  // Called when Join or Rejoin has given this process its place.
  void Entered(ProcessId process, const v1::JoinResponse& place) {
    latest_of_[process] = place.epoch().nonce();
  }

 private:
  // The counts at the time when an epoch forms.
  struct Count {
    uint32_t replaced = 0;
    uint32_t largest = 0;  // the size of the largest epoch so far
  };

  template <typename Place>
  void Observe(DaemonId daemon, const Place& place);
  template <typename Place>
  Count CountBefore(DaemonId daemon, const Place& place) const;
  void Include(uint64_t epoch_nonce, Count* count) const;
  void Check(const Count& count, const v1::JobHistory& told);

  const Setting* const setting_;
  SimulationState* const simulation_;
  uint32_t newcomers_ = 0;                        // of all epochs
  std::map<uint64_t, Count> counts_;              // by nonce
  std::map<uint64_t, v1::JobHistory> histories_;  // by nonce
  std::map<ProcessId, uint64_t> latest_of_;       // nonces
  std::map<DaemonId, uint64_t> last_formed_;      // nonces
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_REPLACEMENTS_H_
