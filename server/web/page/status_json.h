#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_

#include <cstdint>
#include <string>

#include "server/core/api/options.h"
#include "server/service/driver/coordinator_driver.h"

namespace muster::web {

// Returns the status of a job for the page, as the members of a JSON object without its braces.
// Members are rows, and a text that several of them share is sent once, because there may be ten
// thousand members. Times are milliseconds since the daemon started. No time depends on when the
// snapshot was taken, so the text does not change while the job stands still.
std::string StatusJson(const service::CoordinatorDriver::Snapshot& snapshot,
                       const core::Options& options, uint64_t refused_calls);

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_
