#ifndef MUSTER_TESTS_SIMULATION_MEMBERSHIPS_H_
#define MUSTER_TESTS_SIMULATION_MEMBERSHIPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/src/protocol/requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/simulated_daemon.h"
#include "tests/simulation/simulated_process.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

// What holds of epochs:
//   - all who enter an epoch see the same roster, and their own process at their rank;
//   - a process's epoch numbers only grow, and so do the job's, unless two daemons form epochs;
//   - members have the ranks that they ask for, and those of a node the order that they ask for;
//   - survivors keep their order, and rank 0 is one of them where there is one;
//   - a stop is seen at the same collective of the world by all.
class Memberships {
 public:
  // Both must outlive this.
  Memberships(const Setting* setting, Stage* stage) : setting_(setting), stage_(stage) {}

  // This process was started at this place.
  void Started(ProcessId process, uint32_t place) { places_[process] = place; }

  // At a daemon; see WireTap. What is no place in an epoch is ignored.
  void Answered(DaemonId daemon, const absl::Status& status, const internal::Response& response);
  // Join or Rejoin has answered this process with its place.
  void Entered(const Process& process, const v1::JoinResponse& place);
  // Who has a rank; the epoch must have been entered by someone.
  ProcessId ProcessAt(uint64_t epoch_nonce, uint32_t rank) const;
  size_t SizeOf(uint64_t epoch_nonce) const { return epochs_.at(epoch_nonce).processes.size(); }

  // A process has completed the world's collective of this number, and sees a stop or none.
  void StopSeen(const Process& process, uint64_t epoch_nonce, uint64_t sequence, bool stop);

 private:
  struct Epoch {
    uint64_t number = 0;
    std::string roster;  // serialized
    std::vector<ProcessId> processes;
    std::map<uint64_t, bool> stops;  // by sequence number
  };

  void CheckRanks(const v1::JoinResponse& place);
  void CheckWishes(const v1::JoinResponse& place);
  void CheckFormed(DaemonId daemon, const v1::EpochId& epoch);

  const Setting* const setting_;
  Stage* const stage_;
  std::map<uint64_t, Epoch> epochs_;  // by nonce
  std::map<ProcessId, uint64_t> latest_of_;
  std::map<ProcessId, uint32_t> places_;
  std::set<uint64_t> formed_;                    // nonces
  std::map<DaemonId, uint64_t> highest_number_;  // by daemon, or all under 0
};

// Which simulated process an identity belongs to.
ProcessId ProcessOf(const v1::MemberIdentity& identity);
internal::Identity IdentityOf(const Setting& setting, ProcessId process, uint32_t place,
                              absl::Duration started);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_MEMBERSHIPS_H_
