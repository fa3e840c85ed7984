#ifndef MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_
#define MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_

#include "absl/status/status.h"
#include "muster/job_options.h"

// Errors for a program that joins a job twice, for instance in a library and in main(). To the
// coordinator, these are two processes with one pid, so only the process itself can explain it.
// Several members in one process are allowed, as in tests, if each asks for a rank of its own.
namespace muster::internal {

// Returns ALREADY_EXISTS if this process is already the job's member with the rank that `options`
// asks for. Such a Join() cannot succeed. Does not block.
absl::Status CheckNotJoined(const JobOptions& options);

// Explains the error of a Join() with `options`. If this process is a member of that job, returns a
// refusal for lack of a place as ALREADY_EXISTS, and mentions the first Join() in a time-out.
// Returns other errors unchanged.
absl::Status ExplainRefusedJoin(const JobOptions& options, const absl::Status& refused);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_JOB_SECOND_JOIN_H_
