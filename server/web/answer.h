#ifndef MUSTER_SERVER_WEB_ANSWER_H_
#define MUSTER_SERVER_WEB_ANSWER_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "server/web/http_server.h"

namespace muster::web {

// The pages of a server, and whether other machines can ask for them.
struct Site {
  const std::map<std::string, Page>& pages;
  bool loopback_only = true;  // whether only this machine can reach it
};

// Returns the answer to a request. Lets exceptions of pages through.
Response AnswerTo(const Site& site, absl::string_view method, const Request& request);

// Returns the answer for an error status, with a text that says what to do.
Response ErrorAnswer(int status);

// Returns the headers of every answer. They tell browsers to run and show only content of this
// server, to store nothing, and to trust the content type.
const std::map<std::string, std::string>& SecurityHeaders();

}  // namespace muster::web

#endif  // MUSTER_SERVER_WEB_ANSWER_H_
