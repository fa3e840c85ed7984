#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_

#include <array>
#include <vector>

#include "absl/types/span.h"
#include "client/src/environment/variables.h"

namespace muster::internal {

// What a launcher can say of where a process stands in its job.
enum class Field { kRank, kWorldSize, kLocalRank, kNodeRank };
inline constexpr std::array<Field, 4> kFields = {Field::kRank, Field::kWorldSize, Field::kLocalRank,
                                                 Field::kNodeRank};

// One family of variables that places a process in its job. Of several names for one thing the
// first that is set counts; an empty list means that the launcher does not say.
struct Launcher {
  const char* name;
  std::vector<const char*> rank;
  std::vector<const char*> world_size;
  std::vector<const char*> local_rank;
  std::vector<const char*> node_rank;
  const char* node_id;  // null: it does not say
  // True: its variables describe this process, whatever others say. False: they may describe the
  // process that started another launcher (srun starts one torchrun on each node).
  bool always_innermost;
  // Whether this process is one of those that the launcher started; null: always.
  bool (*applies)(const Variables& variables);

  const std::vector<const char*>& names(Field field) const;
};

// Every launcher that is understood, the first to be asked first. docs/environment.md shows the
// same table.
absl::Span<const Launcher> Launchers();

// Kubernetes' Indexed Job is no Launcher: its index counts pods, and what a pod is to the job
// depends on what runs in it.
inline constexpr char kCompletionIndex[] = "JOB_COMPLETION_INDEX";

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_LAUNCHERS_H_
