#ifndef MUSTER_TESTS_SIMULATION_REPLACEMENTS_H_
#define MUSTER_TESTS_SIMULATION_REPLACEMENTS_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "client/src/protocol/requests.h"
#include "muster/v1/coordinator.pb.h"
#include "tests/simulation/setting.h"
#include "tests/simulation/simulated_daemon.h"
#include "tests/simulation/simulated_process.h"
#include "tests/simulation/stage.h"

namespace muster::simulation {

// How many processes have taken the places of others, counted by the rosters of epochs alone:
//   - never more than the job allows;
//   - a daemon, restarted ones too, says no less than were counted in the epochs before that its
//     members have been in, nor more than have ever come into an epoch;
//   - it says the same to all members of an epoch.
class Replacements {
 public:
  // Both must outlive this.
  Replacements(const Setting* setting, Stage* stage) : setting_(setting), stage_(stage) {}

  // At a daemon; see WireTap. What is no place in an epoch is ignored.
  void Answered(DaemonId daemon, const absl::Status& status, const internal::Response& response);
  // Join or Rejoin has answered this process with its place.
  void Entered(ProcessId process, const v1::JoinResponse& place) {
    latest_of_[process] = place.epoch().nonce();
  }

 private:
  // When an epoch has formed.
  struct Count {
    uint32_t replaced = 0;
    uint32_t largest = 0;  // size of an epoch so far
  };

  template <typename Place>
  void See(DaemonId daemon, const Place& place);
  template <typename Place>
  Count CountBefore(DaemonId daemon, const Place& place) const;
  void Include(uint64_t epoch_nonce, Count* count) const;
  void Check(const Count& count, const v1::JobHistory& told);

  const Setting* const setting_;
  Stage* const stage_;
  uint32_t newcomers_ = 0;                    // in all epochs
  std::map<uint64_t, Count> counts_;          // by nonce
  std::map<uint64_t, v1::JobHistory> told_;   // by nonce
  std::map<ProcessId, uint64_t> latest_of_;   // nonces
  std::map<DaemonId, uint64_t> last_formed_;  // nonces
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_REPLACEMENTS_H_
