#ifndef MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_
#define MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_

#include "absl/status/status.h"
#include "muster/job_options.h"

// A program that joins a job twice, from a library and from main() for instance. The coordinator
// sees two processes of one pid; only the process itself knows better. Several members of one
// process are allowed, as tests have them, as long as each has a rank of its own.
namespace muster::internal {

// ALREADY_EXISTS if this process is a member of the job with the rank that `options` ask for: that
// Join() cannot succeed. Does not block.
absl::Status CheckNotJoined(const JobOptions& options);

// `refused` is what a Join() with `options` ended with. If this process is a member of that job,
// returns a refusal for want of a place as ALREADY_EXISTS, and a time-out with that as a
// likely cause. Returns other errors as they are.
absl::Status ExplainRefusedJoin(const JobOptions& options, const absl::Status& refused);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_
