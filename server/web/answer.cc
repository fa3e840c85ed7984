#include "server/web/answer.h"

#include "absl/strings/str_cat.h"
#include "common/names/host_port.h"
#include "server/service/base/listen_address.h"

namespace muster::web {
namespace {

// Returns whether a Host header, with or without a port, names this machine.
bool NamesThisMachine(const std::string& host) {
  absl::StatusOr<HostPort> parsed = ParseHostPort(host, /*min_port=*/0);
  if (!parsed.ok()) parsed = ParseHostPort(absl::StrCat(host, ":0"), /*min_port=*/0);
  return parsed.ok() && service::IsLoopback(*parsed);
}

bool IsForeign(const Request& request) {
  const auto host = request.headers.find("host");
  return host == request.headers.end() || !NamesThisMachine(host->second);
}

absl::string_view Explain(int status) {
  switch (status) {
    case 400:
      return "musterd cannot read this request: it is not HTTP/1.1, its method is unknown, or it "
             "has more than 16 KiB with its headers.";
    case 403:
      return "musterd serves its pages only to this machine, as localhost, 127.0.0.1 or [::1].";
    case 404:
      return "There is no such page; the status page is at /.";
    case 405:
      return "Pages can only be read: use GET or HEAD.";
    case 500:
      return "musterd could not make the page; its log says why.";
    default:
      return "The request was refused.";
  }
}

}  // namespace

const std::map<std::string, std::string>& SecurityHeaders() {
  static const auto* const headers = new std::map<std::string, std::string>{
      {"Cache-Control", "no-store"},
      {"Content-Security-Policy",
       "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
  };
  return *headers;
}

Response ErrorAnswer(int status) {
  Response response;
  response.status = status;
  response.body = absl::StrCat(Explain(status), "\n");
  if (status == 405) response.headers["Allow"] = "GET, HEAD";
  return response;
}

Response AnswerTo(const Site& site, absl::string_view method, const Request& request) {
  if (site.loopback_only && IsForeign(request)) return ErrorAnswer(403);
  if (method != "GET" && method != "HEAD") return ErrorAnswer(405);
  const auto page = site.pages.find(request.path);
  return page == site.pages.end() ? ErrorAnswer(404) : page->second(request);
}

}  // namespace muster::web
