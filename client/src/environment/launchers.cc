#include "client/src/environment/launchers.h"

namespace muster::internal {
namespace {

// Returns whether Slurm started this process as a task. A batch script and an salloc shell have
// SLURM_PROCID too, but Slurm starts only one of each. Only the processes of a step (srun) have a
// place in the job.
bool IsSlurmTask(const Variables& variables) {
  return variables.count("SLURM_JOB_ID") == 0 || variables.count("SLURM_STEP_ID") > 0;
}

}  // namespace

const std::vector<const char*>& Launcher::names(Field field) const {
  switch (field) {
    case Field::kRank:
      return rank;
    case Field::kWorldSize:
      return world_size;
    case Field::kLocalRank:
      return local_rank;
    case Field::kNodeRank:
      return node_rank;
  }
  return rank;
}

absl::Span<const Launcher> Launchers() {
  // OMPI_COMM_WORLD_NODE_RANK is left out on purpose: it is an index *on* the node.
  static const auto* const kLaunchers = new std::vector<Launcher>{
      {"Muster",
       {"MUSTER_RANK"},
       {"MUSTER_WORLD_SIZE"},
       {"MUSTER_LOCAL_RANK"},
       {"MUSTER_NODE_RANK"},
       "MUSTER_NODE_ID",
       /*always_innermost=*/true,
       nullptr},
      {"torchrun",
       {"RANK"},
       {"WORLD_SIZE"},
       {"LOCAL_RANK"},
       {"GROUP_RANK"},
       nullptr,
       /*always_innermost=*/true,
       nullptr},
      {"Slurm",
       {"SLURM_PROCID"},
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
       {"SLURM_LOCALID"},
       {"SLURM_NODEID"},
       "SLURMD_NODENAME",
       /*always_innermost=*/false,
       IsSlurmTask},
      {"Open MPI",
       {"OMPI_COMM_WORLD_RANK"},
       {"OMPI_COMM_WORLD_SIZE"},
       {"OMPI_COMM_WORLD_LOCAL_RANK"},
       {},
       nullptr,
       /*always_innermost=*/false,
       nullptr},
      {"PMI",
       {"PMI_RANK", "PMIX_RANK"},
       {"PMI_SIZE"},
       {"PMI_LOCAL_RANK", "MPI_LOCALRANKID"},
       {},
       nullptr,
       /*always_innermost=*/false,
       nullptr},
  };
  return *kLaunchers;
}

}  // namespace muster::internal
