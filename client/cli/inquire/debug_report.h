#ifndef MUSTER_CLIENT_CLI_INQUIRE_DEBUG_REPORT_H_
#define MUSTER_CLIENT_CLI_INQUIRE_DEBUG_REPORT_H_

#include <string>
#include <vector>

#include "client/observe/bundle/bundle.h"
#include "muster/v1/coordinator.pb.h"

// Formats an inquiry for people. No system calls.
namespace muster::cli {

// Returns the verdict in the first line, and then a table of what each rank is doing.
std::string FullDebugReport(const muster::v1::GetInquiryResponse& inquiry,
                            const muster::v1::GetStatusResponse& status);

// Returns the same for a screen of `width` columns. If there are many ranks, ranks that do the same
// share a row. If there are many rows, shows only the first ones, so that the verdict stays
// visible.
std::string DebugReport(const muster::v1::GetInquiryResponse& inquiry,
                        const muster::v1::GetStatusResponse& status, int width);

// Returns the folder for the files of a launcher, such as "nodes/n1/". Two launchers on one node
// get different folders.
std::string LauncherFolder(const muster::v1::LauncherReport& report,
                           const muster::v1::GetInquiryResponse& inquiry);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_DEBUG_REPORT_H_
