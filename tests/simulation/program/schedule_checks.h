#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_SCHEDULE_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_SCHEDULE_CHECKS_H_

#include <cstdint>
#include <set>
#include <variant>

#include "tests/simulation/program/call_results.h"
#include "tests/simulation/program/collective_checks.h"
#include "tests/simulation/program/lease_checks.h"
#include "tests/simulation/program/memberships.h"
#include "tests/simulation/program/replacements.h"
#include "tests/simulation/program/store_checks.h"
#include "tests/simulation/world/simulated_network.h"

namespace muster::simulation {

// All invariants of one schedule. Process checks two more itself: that each call ends once, and
// that it ends in time. Daemon checks that answers go to the callers that asked.
class Checks : public WireTap {
 public:
  // Both must outlive this.
  Checks(const Setting* setting, SimulationState* simulation)
      : memberships(setting, simulation),
        replacements(setting, simulation),
        collectives(&memberships, simulation),
        leases(setting, simulation),
        store(setting, simulation) {}

  Memberships memberships;
  Replacements replacements;
  CollectiveChecks collectives;
  LeaseChecks leases;
  StoreChecks store;
  CallResults results;
  uint64_t node_calls = 0;  // that have arrived at a daemon
  uint64_t commits = 0;     // that members have reported
  // Processes that a fault has struck. Other processes may be told that these were lost.
  std::set<ProcessId> disturbed;

  // WireTap:
  void Arrived(core::WaiterId waiter, const SentRpc& rpc) override {
    collectives.Arrived(waiter, rpc);
    const auto* const request = std::get_if<internal::Request>(&rpc.request);
    if (request != nullptr && std::holds_alternative<v1::NodeCollectiveRequest>(*request)) {
      ++node_calls;
    }
    const auto* const report =
        request == nullptr ? nullptr : std::get_if<v1::ReportCommitsRequest>(request);
    if (report == nullptr) return;
    for (const v1::GroupCommits& group : report->groups()) commits += group.commits_size();
  }
  void Answered(core::WaiterId waiter, const SentRpc& rpc, const absl::Status& status,
                const internal::Response& response) override {
    memberships.Answered(rpc.daemon, status, response);
    replacements.Answered(rpc.daemon, status, response);
    collectives.Answered(waiter, rpc, status, response);
    leases.Answered(rpc, status, response);
  }
  void Registered(const SentRpc& rpc, const v1::SessionId& session) override {
    collectives.Registered(rpc, session);
  }
  void Withdrawn(core::WaiterId waiter, const SentRpc& rpc) override {
    collectives.Withdrawn(waiter, rpc);
  }
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_SCHEDULE_CHECKS_H_
