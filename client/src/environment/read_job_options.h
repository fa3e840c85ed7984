#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/src/environment/variables.h"
#include "muster/job_options.h"

namespace muster::internal {

// JobOptions::FromEnvironment() on any set of variables.
absl::StatusOr<JobOptions> ReadJobOptions(const Variables& variables);

// Muster's own variables among those.
const std::vector<std::string>& OptionVariables();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_READ_JOB_OPTIONS_H_
