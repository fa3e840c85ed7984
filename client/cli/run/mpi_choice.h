#ifndef MUSTER_CLIENT_CLI_RUN_MPI_CHOICE_H_
#define MUSTER_CLIENT_CLI_RUN_MPI_CHOICE_H_

#include <string>

#include "absl/status/status.h"
#include "client/cli/run/launch_plan.h"

namespace muster::cli {

// Decides between PMI-1 and PMIx, and writes the choice into the plan. With --pmi=on, only a
// program that is itself linked with a library that speaks PMIx gets PMIx, because libpmix takes
// 20 ms to start, and a thread. If such a program cannot have it, the plan gets a warning. Returns
// an error, a text for the user, if --pmi=pmix cannot be had. `program` is the path that the ranks
// execute.
absl::Status ChooseMpi(const std::string& program, LaunchPlan* plan);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_MPI_CHOICE_H_
