#ifndef MUSTER_TESTS_SIMULATION_LEASE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_LEASE_CHECKS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/simulation/plan.h"
#include "tests/simulation/simulated_network.h"

namespace muster::simulation {

// What leased work produces, in a place that checks fencing tokens: it refuses a writer that shows
// a lower token than it has seen.
class Resource {
 public:
  // False: refused.
  bool Write(uint64_t token) {
    if (token < highest_) return false;
    highest_ = token;
    return true;
  }
  uint64_t highest() const { return highest_; }

 private:
  uint64_t highest_ = 0;
};

// What holds of leases:
//   - a token is granted to one request only, whichever daemons grant, and the tokens only grow,
//     over restarts too, unless two daemons grant;
//   - nobody is granted what another holds, unless the other counts as lost;
//   - everyone who gets the outcome of the work gets what its holder published under that token;
//   - work that nothing disturbed is completed once;
//   - a completion under a token that the resource would refuse is refused.
class LeaseChecks {
 public:
  // Both must outlive this.
  LeaseChecks(const Setting* setting, Stage* stage) : setting_(setting), stage_(stage) {}

  // At a daemon; see WireTap. What is neither a grant nor a completion is ignored.
  void Answered(const SentRpc& rpc, const absl::Status& status, const internal::Response& response);

  // In a program. `lease` is the name, and of a node lease the node too: LeaseKey().
  void Granted(const Process& process, const std::string& lease, uint64_t token);
  // The holder touches what it works on; false if it must stop, since another one has taken over.
  bool Write(const Process& process, const std::string& lease, uint64_t token);
  void Publishes(const std::string& lease, uint64_t token,
                 const absl::StatusOr<std::string>& outcome);
  // The holder's completion has ended like this.
  void Completed(const Process& process, const std::string& lease, uint64_t token,
                 const absl::Status& status);
  // The process holds the lease no more: it gave it up, or has ended.
  void Released(const Process& process, const std::string& lease);
  void Gone(const Process& process);
  // The process was told what the work came to.
  void Learned(const Process& process, const std::string& lease, uint64_t token,
               const absl::StatusOr<std::string>& outcome);

 private:
  struct Lease {
    Resource resource;
    std::optional<ProcessId> holder;  // as it believes
    uint64_t token = 0;               // the latest that was granted to a program
    std::map<uint64_t, absl::StatusOr<std::string>> published;
    std::optional<uint64_t> completed;  // under this token
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
  Stage* const stage_;
  std::map<std::string, Lease> leases_;
  std::map<uint64_t, Request> grants_;            // by token
  std::map<DaemonId, uint64_t> highest_granted_;  // by daemon, or all under 0
  std::map<uint64_t, std::string> names_;         // of leases, by token
  // The resource's highest token when a completion under this one was accepted first.
  std::map<uint64_t, uint64_t> highest_when_completed_;
};

// What distinguishes leases for a process on this node.
std::string LeaseKey(const LeaseStep& lease, const std::string& node);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_LEASE_CHECKS_H_
