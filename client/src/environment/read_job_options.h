#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/environment/variables.h"
#include "muster/job_options.h"

namespace muster::internal {

// Does the work of JobOptions::FromEnvironment(), for any set of variables:
//
//   auto options = ReadJobOptions({{"MUSTER_COORDINATOR", "head:7370"}, {"RANK", "3"}});
//
// This room reads what launchers and clusters say about a process, and never opens a connection.
// Its callers are JobOptions, client/c, and rooms that need the process's identity. Tests:
// tests/client/environment.
absl::StatusOr<JobOptions> ReadJobOptions(const Variables& variables);

// Returns the names of Muster's own variables that it reads.
const std::vector<std::string>& OptionVariables();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_
