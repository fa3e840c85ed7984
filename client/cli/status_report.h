#ifndef MUSTER_CLIENT_CLI_STATUS_REPORT_H_
#define MUSTER_CLIENT_CLI_STATUS_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::cli {

// The status of a job as a person reads it: a line about the job, a table of its members, and
// tables of what is pending, leased and lost where there is any; within `width` columns, or
// TextTable::kUnbounded.
std::string StatusReport(const muster::v1::GetStatusResponse& status, int width = 0);

// The status in protobuf's JSON mapping, fields under their names in the .proto file.
absl::StatusOr<std::string> StatusJson(const muster::v1::GetStatusResponse& status);

// "340ms", "12.5s", "3m12s", "2d4h": two units at most, for people.
std::string BriefDuration(absl::Duration duration);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_STATUS_REPORT_H_
