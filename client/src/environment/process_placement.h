#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/src/environment/variables.h"

namespace muster::internal {

// A number and the variable that told it.
struct Told {
  int value = 0;
  std::string variable;
};

// Where the environment puts this process in its job; unset where it does not say.
struct Placement {
  std::optional<Told> rank;
  std::optional<Told> world_size;
  std::optional<Told> local_rank;
  std::optional<Told> node_rank;
  std::string node_id;  // empty: not told
};

// What the launchers' variables say together; docs/environment.md has the rules. INVALID_ARGUMENT
// names a variable that is malformed, or two that contradict each other, with what they hold.
absl::StatusOr<Placement> ReadPlacement(const Variables& variables);

// This process's rank and local rank as far as they are known without joining the job: empty where
// the environment does not say, or contradicts itself.
std::optional<int> RankFromEnvironment();
std::optional<int> LocalRankFromEnvironment();

// What the program has said by SetLocalRank(), for where the environment does not say; see
// muster/current_job.h. Thread-safe.
void HintLocalRank(int local_rank);
std::optional<int> HintedLocalRank();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_PROCESS_PLACEMENT_H_
