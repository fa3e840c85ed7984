#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "client/src/environment/variables.h"

namespace muster::internal {

// The numbers that a launcher may give a process.
enum class Field { kRank, kWorldSize, kLocalRank, kNodeRank };
inline constexpr std::array<Field, 4> kFields = {Field::kRank, Field::kWorldSize, Field::kLocalRank,
                                                 Field::kNodeRank};

// The variables by which one launcher gives a process its place in the job. If several names are
// listed, the first one that is set counts. An empty list means that the launcher does not set the
// number.
struct Launcher {
  const char* name;
  std::vector<const char*> rank;
  std::vector<const char*> world_size;
  std::vector<const char*> local_rank;
  std::vector<const char*> node_rank;
  const char* node_id;  // null if the launcher does not set it
  // Whether the variables describe this process, whatever other launchers have set. If false, they
  // may describe the process that started another launcher: srun starts one torchrun on each node.
  bool always_innermost;
  // Returns whether the launcher started this process. Null means always.
  bool (*applies)(const Variables& variables);

  const std::vector<const char*>& names(Field field) const;
};

// Returns all known launchers, in the order in which they are asked. docs/environment.md has the
// same table.
absl::Span<const Launcher> Launchers();

// Kubernetes' Indexed Job is not in the table: its index counts pods, and a pod may run one rank or
// a whole node's.
inline constexpr char kCompletionIndex[] = "JOB_COMPLETION_INDEX";

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_
