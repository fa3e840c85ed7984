#include "server/web/page/status_page.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/web/page/files.h"

namespace muster::web {
namespace {

constexpr char kIndex[] = "index.html";

std::string TypeOf(absl::string_view name) {
  if (absl::EndsWith(name, ".js")) return "text/javascript; charset=utf-8";
  if (absl::EndsWith(name, ".css")) return "text/css; charset=utf-8";
  return absl::EndsWith(name, ".svg") ? "image/svg+xml" : "text/html; charset=utf-8";
}

Response Status(StatusFeed& feed, const Request& request) {
  const auto version = request.parameters.find("have");
  const bool knows = version != request.parameters.end();
  return {200, "application/json", {}, feed.Answer(knows ? version->second : "")};
}

}  // namespace

std::map<std::string, Page> StatusPages(std::shared_ptr<StatusFeed> feed) {
  std::map<std::string, Page> pages;
  for (const File& file : PageFiles()) {
    const std::string path = file.name == kIndex ? "/" : absl::StrCat("/", file.name);
    pages[path] = [&file](const Request&) -> Response {
      return {200, TypeOf(file.name), {}, file.content};
    };
  }
  pages["/api/status"] = [feed = std::move(feed)](const Request& request) {
    return Status(*feed, request);
  };
  return pages;
}

}  // namespace muster::web
