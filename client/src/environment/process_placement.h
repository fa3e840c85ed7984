#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/environment/variables.h"

namespace muster::internal {

// A number, and the variable that holds it.
struct VariableNumber {
  int value = 0;
  std::string variable;
};

// This process's place in its job. Fields that the environment does not give are unset.
struct Placement {
  std::optional<VariableNumber> rank;
  std::optional<VariableNumber> world_size;
  std::optional<VariableNumber> local_rank;
  std::optional<VariableNumber> node_rank;
  std::string node_id;  // empty if not given
};

// Combines the variables of all launchers, by the rules in docs/environment.md. Returns
// INVALID_ARGUMENT, with variables and values, if one is malformed or two contradict each other.
absl::StatusOr<Placement> ReadPlacement(const Variables& variables);

// Return this process's rank and local rank, as far as they are known before it joins a job. Return
// nullopt if the environment does not give them or contradicts itself.
std::optional<int> RankFromEnvironment();
std::optional<int> LocalRankFromEnvironment();

// The local rank that the program set by SetLocalRank() (muster/toolkits/current_job.h), used if
// the environment does not give one. Thread-safe.
void HintLocalRank(int local_rank);
std::optional<int> HintedLocalRank();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_
