#ifndef MUSTER_CLIENT_CLI_INQUIRE_STATUS_REPORT_H_
#define MUSTER_CLIENT_CLI_INQUIRE_STATUS_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::cli {

// Returns the status of a job for people: a line about the job, a table of its members, and tables
// of pending collectives, waits in the store, leases and losses, if there are any. Lines have at
// most `width` columns; TextTable::kUnbounded means no limit.
std::string StatusReport(const muster::v1::GetStatusResponse& status, int width = 0);

// Returns the status in protobuf's JSON mapping, with the field names of the .proto file.
absl::StatusOr<std::string> StatusJson(const muster::v1::GetStatusResponse& status);

// Returns a duration in at most two units: "340ms", "12.5s", "3m12s", "2d4h".
std::string BriefDuration(absl::Duration duration);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_STATUS_REPORT_H_
