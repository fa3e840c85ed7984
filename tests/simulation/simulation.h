#ifndef MUSTER_TESTS_SIMULATION_SIMULATION_H_
#define MUSTER_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::simulation {

struct Options {
  uint64_t seed = 1;
  bool verbose = false;              // prints the schedule
  std::set<size_t> without_faults;   // indices of faults to leave out
  std::optional<bool> node_fanin;    // whether ranks of a node arrive together; unset: by the seed
  std::optional<bool> node_commits;  // whether collectives may complete there; unset: by the seed
};

struct Result {
  std::vector<std::string> violations;
  size_t faults = 0;
  uint64_t steps = 0;
  std::map<std::string, std::string> results;  // see CallResults
  std::set<uint64_t> epochs;                   // nonces of those that programs were in
  uint64_t node_calls = 0;                     // calls for several ranks of a node
  uint64_t commits = 0;                        // reported collectives that completed on a node
};

// Runs one schedule until every process has ended. The same options give the same schedule.
Result Simulate(const Options& options);

// Removes every fault that the failure does not need. The schedule of `options` must fail.
Options Shrink(Options options);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_SIMULATION_H_
