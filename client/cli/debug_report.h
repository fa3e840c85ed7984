#ifndef MUSTER_CLIENT_CLI_DEBUG_REPORT_H_
#define MUSTER_CLIENT_CLI_DEBUG_REPORT_H_

#include <string>
#include <vector>

#include "client/observe/bundle.h"
#include "muster/v1/coordinator.pb.h"

// What is known of an inquiry, for people. Pure.
namespace muster::cli {

// The verdict alone in the first line; then, as a table, what each rank is doing.
std::string FullDebugReport(const muster::v1::GetInquiryResponse& inquiry,
                            const muster::v1::GetStatusResponse& status);

// The same for a screen of `width` columns: of many ranks those that do the same share a row, and
// of many rows the first ones are shown, so that the verdict above stays in sight.
std::string DebugReport(const muster::v1::GetInquiryResponse& inquiry,
                        const muster::v1::GetStatusResponse& status, int width);

// "nodes/n1/" for the files of that launcher: two on one node get a folder each.
std::string FolderOf(const muster::v1::LauncherReport& report,
                     const muster::v1::GetInquiryResponse& inquiry);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_DEBUG_REPORT_H_
