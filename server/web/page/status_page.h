#ifndef MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_
#define MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_

#include <map>
#include <memory>
#include <string>

#include "server/web/http_server.h"
#include "server/web/page/status_feed.h"

namespace muster::web {

// Returns the pages by path, for HttpOptions::pages: the page at "/", the files that it loads, and
// the status at "/api/status". The parameter "have" of the status is the version that the viewer
// has.
std::map<std::string, Page> StatusPages(std::shared_ptr<StatusFeed> feed);

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_PAGE_STATUS_PAGE_H_
