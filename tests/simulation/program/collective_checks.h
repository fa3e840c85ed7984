#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_CHECKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/program/memberships.h"
#include "tests/simulation/program/plan.h"
#include "tests/simulation/world/simulated_network.h"

namespace muster::simulation {

// The invariants of collectives:
//   - A daemon completes a collective only after each rank of the group has a parked arrival, by
//     its own call or as a part of another member's. A withdrawn arrival (time-out, cancellation
//     or WithdrawArrival) does not count. Nor does its late duplicate, nor a part whose member is
//     detached.
//   - Every rank that completes a collective gets the answer of the naive model.
//   - If ranks disagree on a collective, no rank completes it or any later one.
//   - A rank completes each collective once, in order.
class CollectiveChecks {
 public:
  // Both must outlive this.
  CollectiveChecks(const Memberships* memberships, SimulationState* simulation)
      : memberships_(memberships), simulation_(simulation) {}

  // Calls of WireTap, from each daemon. Requests that are no collectives are ignored.
  void Arrived(core::WaiterId waiter, const SentRpc& rpc);
  void Answered(core::WaiterId waiter, const SentRpc& rpc, const absl::Status& status,
                const internal::Response& response);
  void Registered(const SentRpc& rpc, const v1::SessionId& session);
  void Withdrawn(core::WaiterId waiter, const SentRpc& rpc);

  // Called by a program when the rank at `index` has completed this step of the group.
  void Completed(const Process& process, const GroupPlan& group, size_t step, size_t index,
                 const std::vector<std::string>& answer);
  // Called by a program when this step was refused because its answer is too large.
  void TooLarge(const Process& process, const GroupPlan& group, size_t step);

 private:
  // The epoch's nonce, the group's name, and the sequence number.
  using Key = std::tuple<uint64_t, std::string, uint64_t>;
  struct Parked {
    ProcessId process;
    DaemonId daemon;
    uint64_t attempt;
    absl::Duration since;
  };
  // A call and the index of the part in it. Index -1: the arrival of the caller itself.
  using ArrivalId = std::pair<core::WaiterId, int>;
  struct Collective {
    std::map<ArrivalId, Parked> parked;
    std::map<std::pair<ProcessId, DaemonId>, uint64_t> withdrawn;  // highest attempt
    bool complete = false;
  };

  // Returns null if the request arrives at no collective that this class checks.
  Collective* Find(const SentRpc& rpc);
  Key KeyOf(const SentRpc& rpc) const;
  void TakeClaims(const SentRpc& rpc);
  void Park(core::WaiterId waiter, const SentRpc& rpc, Collective* collective);
  void PartsAnswered(core::WaiterId waiter, const SentRpc& rpc, bool completed,
                     Collective* collective);
  void Withdraw(const SentRpc& rpc, uint64_t up_to, Collective* collective);
  // Ends all parts of this process at the daemon. Its own calls end on their own.
  void EndParts(ProcessId process, DaemonId daemon);
  void CheckAllPresent(const Key& key, DaemonId daemon, const Collective& collective);
  std::vector<uint32_t> RanksOf(uint64_t epoch_nonce, const std::string& group);
  static bool IsPresent(const Collective& collective, ProcessId process, DaemonId daemon);

  const Memberships* const memberships_;
  SimulationState* const simulation_;
  std::map<Key, Collective> collectives_;
  std::map<std::pair<DaemonId, uint64_t>, ProcessId> sessions_;  // by the session's counter
  // The attempt of the Attach call that registered the process.
  std::map<std::pair<DaemonId, ProcessId>, uint64_t> streams_;
  // The ranks of each group, by the epoch's nonce and the group's name.
  std::map<std::pair<uint64_t, std::string>, std::vector<uint32_t>> ranks_;
  std::map<std::string, std::string> names_;  // of groups, by digest
  void MoveOn(const Process& process, const GroupPlan& group, size_t step);
  // Returns whether the process has claimed this collective as completed. Then it needs no answer,
  // and no rank waits for it.
  bool HasClaimed(ProcessId process, const Key& key) const;
  void TakeProofs(const SentRpc& rpc);
  bool IsProven(const Key& key) const;

  std::map<std::tuple<ProcessId, uint64_t, std::string>, size_t> next_step_;
  // The highest next sequence number that a process has claimed in a group.
  std::map<std::tuple<ProcessId, uint64_t, std::string>, uint64_t> claimed_;
  // The number below which all collectives of a group have completed.
  std::map<std::pair<uint64_t, std::string>, uint64_t> proven_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_COLLECTIVE_CHECKS_H_
