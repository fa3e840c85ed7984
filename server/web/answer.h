#ifndef MUSTER_SERVER_WEB_ANSWER_H_
#define MUSTER_SERVER_WEB_ANSWER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "server/web/http_server.h"

namespace muster::web {

struct Site {
  const std::map<std::string, Page>& pages;
  bool only_this_machine = true;  // can reach it
};

// What a request is answered with; what a page throws is thrown.
Response AnswerTo(const Site& site, absl::string_view method, const Request& request);

// The answer with a status that is no success, which says what to do.
Response Refusal(int status);

// What every answer says to browsers: to run and to show nothing that is not of this server, to
// keep nothing, and to believe the content type.
const std::map<std::string, std::string>& SecurityHeaders();

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_ANSWER_H_
