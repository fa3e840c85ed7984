#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_MEMBERSHIPS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_MEMBERSHIPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/src/protocol/messages/member_requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/world/setting.h"
#include "tests/simulation/world/simulated_daemon.h"
#include "tests/simulation/world/simulated_process.h"
#include "tests/simulation/world/simulation_state.h"

namespace muster::simulation {

// The invariants of epochs:
//   - All members of an epoch see the same roster, each with its own process at its rank.
//   - A process's epoch numbers only grow. The job's do too, unless two daemons form epochs.
//   - Members get the ranks that they ask for. Members of one node get the order that they ask for.
//   - Survivors keep their order, and rank 0 is a survivor if there is any.
//   - All ranks see a stop at the same collective of the world.
class Memberships {
 public:
  // Both must outlive this.
  Memberships(const Setting* setting, SimulationState* simulation)
      : setting_(setting), simulation_(simulation) {}

  // Notes that the process was started at this place.
  void Started(ProcessId process, uint32_t place) { places_[process] = place; }

  // Called for each answer of a daemon; see WireTap. Only answers with a place in an epoch count.
  void Answered(DaemonId daemon, const absl::Status& status, const internal::Response& response);
  // Called when Join or Rejoin has given this process its place.
  void Entered(const Process& process, const v1::JoinResponse& place);
  // Returns the process that has the rank. Some process must have entered the epoch.
  ProcessId ProcessAt(uint64_t epoch_nonce, uint32_t rank) const;
  size_t SizeOf(uint64_t epoch_nonce) const { return epochs_.at(epoch_nonce).processes.size(); }

  // Called when a process has completed the world's collective of this number. `stop`: it sees a
  // stop.
  void StopSeen(const Process& process, uint64_t epoch_nonce, uint64_t sequence, bool stop);

 private:
  struct Epoch {
    uint64_t number = 0;
    std::string roster;  // serialized
    std::vector<ProcessId> processes;
    std::map<uint64_t, bool> stops;  // by sequence number
  };

  void CheckRanks(const v1::JoinResponse& place);
  void CheckRequestedRanks(const v1::JoinResponse& place);
  void CheckFormed(DaemonId daemon, const v1::EpochId& epoch);

  const Setting* const setting_;
  SimulationState* const simulation_;
  std::map<uint64_t, Epoch> epochs_;  // by nonce
  std::map<ProcessId, uint64_t> latest_of_;
  std::map<ProcessId, uint32_t> places_;
  std::set<uint64_t> formed_;                    // nonces
  std::map<DaemonId, uint64_t> highest_number_;  // by daemon; all under 0 if numbers_are_known()
};

// Returns the simulated process that an identity belongs to.
ProcessId ProcessOf(const v1::MemberIdentity& identity);
internal::Identity IdentityOf(const Setting& setting, ProcessId process, uint32_t place,
                              absl::Duration started);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_MEMBERSHIPS_H_
