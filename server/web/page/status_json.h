#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_

#include <cstdint>
#include <string>

#include "server/core/options.h"
#include "server/service/driver.h"

namespace muster::web {

// What the page shows of a job, as the members of a JSON object without its braces: rows for the
// members, and texts that many of them share only once, since there may be ten thousand. Times are
// milliseconds since the daemon's start, and none is counted back from the time of the snapshot: of
// a job that stands still the text stays the same.
std::string StatusJson(const service::Driver::Snapshot& snapshot, const core::Options& options,
                       uint64_t refused_calls);

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_JSON_H_
