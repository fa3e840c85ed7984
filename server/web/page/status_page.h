#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_

#include <map>
#include <memory>
#include <string>

#include "server/web/http_server.h"
#include "server/web/page/status_feed.h"

namespace muster::web {

// The page at "/", what it loads, and at "/api/status" what it asks for: by HttpOptions::pages'
// paths. "have" of the query is the version that the asker has.
std::map<std::string, Page> StatusPages(std::shared_ptr<StatusFeed> feed);

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_
