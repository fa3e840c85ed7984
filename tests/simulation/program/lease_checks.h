#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_CHECKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/simulation/program/plan.h"
#include "tests/simulation/world/simulated_network.h"

namespace muster::simulation {

// A store for the work's product that checks fencing tokens. It refuses a writer whose token is
// lower than one that it has seen.
class Resource {
 public:
  // Returns false if the write is refused.
  bool Write(uint64_t token) {
    if (token < highest_) return false;
    highest_ = token;
    return true;
  }
  uint64_t highest() const { return highest_; }

 private:
  uint64_t highest_ = 0;
};

// The invariants of leases:
//   - A token is granted to one request only, whichever daemon grants it. Tokens only grow, over
//     restarts too, unless two daemons grant at once.
//   - No process is granted a lease that another one holds, unless the holder counts as lost.
//   - Every process that gets the outcome of the work gets what the holder of that token published.
//   - Undisturbed work is completed once.
//   - A completion is refused if the resource would refuse its token.
class LeaseChecks {
 public:
  // Both must outlive this.
  LeaseChecks(const Setting* setting, SimulationState* simulation)
      : setting_(setting), simulation_(simulation) {}

  // Called for each answer of a daemon; see WireTap. Only grants and completions count.
  void Answered(const SentRpc& rpc, const absl::Status& status, const internal::Response& response);

  // Called by programs. `lease` is a LeaseKey().
  void Granted(const Process& process, const std::string& lease, uint64_t token);
  // Writes to the resource for the holder. Returns false if the holder must stop, because another
  // process has taken over.
  bool Write(const Process& process, const std::string& lease, uint64_t token);
  // Called when the holder is about to publish the outcome.
  void Publishes(const std::string& lease, uint64_t token,
                 const absl::StatusOr<std::string>& outcome);
  // Called with the result of the holder's completion.
  void Completed(const Process& process, const std::string& lease, uint64_t token,
                 const absl::Status& status);
  // The process no longer holds the lease, because it gave the lease up or has ended.
  void Released(const Process& process, const std::string& lease);
  void Gone(const Process& process);
  // Called when the process has learned the outcome of the work.
  void Learned(const Process& process, const std::string& lease, uint64_t token,
               const absl::StatusOr<std::string>& outcome);

 private:
  struct Lease {
    Resource resource;
    std::optional<ProcessId> holder;  // the process that believes it is the holder
    uint64_t token = 0;               // the latest token that was granted to a program
    std::map<uint64_t, absl::StatusOr<std::string>> published;
    std::optional<uint64_t> completed;  // the token of the accepted completion
  };
  struct Request {
    ProcessId process;
    uint64_t id;
    friend bool operator==(const Request& a, const Request& b) {
      return a.process == b.process && a.id == b.id;
    }
  };

  void CheckGrant(const SentRpc& rpc, const v1::AcquireLeaseResponse& answer);
  void CheckCompletedOnce(const std::string& lease, uint64_t token);

  const Setting* const setting_;
  SimulationState* const simulation_;
  std::map<std::string, Lease> leases_;
  std::map<uint64_t, Request> grants_;            // by token
  std::map<DaemonId, uint64_t> highest_granted_;  // by daemon; all under 0 if numbers_are_known()
  std::map<uint64_t, std::string> names_;         // of leases, by token
  // Maps a token to the highest token that the resource had seen when the first completion under
  // the former was accepted.
  std::map<uint64_t, uint64_t> highest_when_completed_;
};

// Returns the key under which a process of this node has the lease. A node lease's key includes the
// node.
std::string LeaseKey(const LeaseStep& lease, const std::string& node);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_LEASE_CHECKS_H_
