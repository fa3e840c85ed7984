#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_OPTIONS_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_OPTIONS_H_

#include "absl/status/statusor.h"
#include "client/src/environment/variables.h"
#include "muster/job_options.h"

namespace muster::internal {

// JobOptions::FromEnvironment() on any set of variables.
absl::StatusOr<JobOptions> ReadJobOptions(const Variables& variables);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_OPTIONS_H_
