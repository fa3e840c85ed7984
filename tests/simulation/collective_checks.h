#ifndef MUSTER_TESTS_SIMULATION_COLLECTIVE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_COLLECTIVE_CHECKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/memberships.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/simulated_network.h"

namespace muster::simulation {

// What holds of collectives:
//   - no daemon completes one before an arrival of each rank of the group is parked there, by a
//   call
//     of its own or as a part of another's; an arrival that was withdrawn, by time-out,
//     cancellation or WithdrawArrival, does not count, nor does its late duplicate, nor a part
//     whose member is detached;
//   - everyone who completes one gets what the naive model says;
//   - one on which ranks disagree completes for nobody, and no rank gets further;
//   - a rank completes each once, in order.
class CollectiveChecks {
 public:
  // Both must outlive this.
  CollectiveChecks(const Memberships* memberships, Stage* stage)
      : memberships_(memberships), stage_(stage) {}

  // At a daemon; see WireTap. What is no collective is ignored.
  void Arrived(core::WaiterId waiter, const SentRpc& rpc);
  void Answered(core::WaiterId waiter, const SentRpc& rpc, const absl::Status& status,
                const internal::Response& response);
  void Registered(const SentRpc& rpc, const v1::SessionId& session);
  void Withdrawn(core::WaiterId waiter, const SentRpc& rpc);

  // In a program: this step of the group has completed for the rank at this index.
  void Completed(const Process& process, const GroupPlan& group, size_t step, size_t index,
                 const std::vector<std::string>& answer);
  // In a program: this step was refused, since its answer is too large.
  void TooLarge(const Process& process, const GroupPlan& group, size_t step);

 private:
  // Epoch's nonce, group's name, sequence number.
  using Key = std::tuple<uint64_t, std::string, uint64_t>;
  struct Parked {
    ProcessId process;
    DaemonId daemon;
    uint64_t attempt;
    absl::Duration since;
  };
  // A call, and the index of its part; -1: the call is the caller's own arrival.
  using ArrivalId = std::pair<core::WaiterId, int>;
  struct Collective {
    std::map<ArrivalId, Parked> parked;
    std::map<std::pair<ProcessId, DaemonId>, uint64_t> withdrawn;  // highest attempt
    bool complete = false;
  };

  // Null where it is none.
  Collective* Find(const SentRpc& rpc);
  Key KeyOf(const SentRpc& rpc) const;
  void TakeClaims(const SentRpc& rpc);
  void Park(core::WaiterId waiter, const SentRpc& rpc, Collective* collective);
  void PartsAnswered(core::WaiterId waiter, const SentRpc& rpc, bool completed,
                     Collective* collective);
  void Withdraw(const SentRpc& rpc, uint64_t up_to, Collective* collective);
  // The parts of this process end there; its own calls end by themselves.
  void EndParts(ProcessId process, DaemonId daemon);
  void CheckAllPresent(const Key& key, DaemonId daemon, const Collective& collective);
  std::vector<uint32_t> RanksOf(uint64_t epoch_nonce, const std::string& group);
  static bool IsPresent(const Collective& collective, ProcessId process, DaemonId daemon);

  const Memberships* const memberships_;
  Stage* const stage_;
  std::map<Key, Collective> collectives_;
  std::map<std::pair<DaemonId, uint64_t>, ProcessId> sessions_;  // by their counter
  // The attempt of the Attach by which a process is registered.
  std::map<std::pair<DaemonId, ProcessId>, uint64_t> streams_;
  // By the epoch's nonce and the group's name.
  std::map<std::pair<uint64_t, std::string>, std::vector<uint32_t>> ranks_;
  std::map<std::string, std::string> names_;  // of groups, by their digests
  void MoveOn(const Process& process, const GroupPlan& group, size_t step);
  // Who has said, of itself, that it has completed this one needs no answer to it, and is not
  // waited for.
  bool HasClaimed(ProcessId process, const Key& key) const;

  std::map<std::tuple<ProcessId, uint64_t, std::string>, size_t> next_step_;
  // The highest next sequence number that a process has claimed in a group.
  std::map<std::tuple<ProcessId, uint64_t, std::string>, uint64_t> claimed_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_COLLECTIVE_CHECKS_H_
