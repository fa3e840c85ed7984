// The files of the status page: their content types, and no inline code or foreign content.

#include "server/web/page/status_page.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class StatusPageTest : public ::testing::Test {
 protected:
  Response Get(const std::string& path, const std::string& have = "") {
    return pages_.at(path)({path, {{"have", have}}, {}});
  }

  const std::map<std::string, Page> pages_ = StatusPages(std::make_shared<StatusFeed>(
      7, [] { return absl::ZeroDuration(); },
      [] {
        return StatusFeed::Sample{absl::Seconds(1), R"("job":"train")"};
      }));
};

TEST_F(StatusPageTest, FilesHaveTheirTypes) {
  EXPECT_THAT(Get("/").content_type, StartsWith("text/html"));
  EXPECT_THAT(Get("/").body, StartsWith("<!doctype html>"));
  EXPECT_THAT(Get("/page.js").content_type, StartsWith("text/javascript"));
  EXPECT_THAT(Get("/page.css").content_type, StartsWith("text/css"));
  EXPECT_EQ(Get("/page.svg").content_type, "image/svg+xml");
}

// The content security policy forbids both, so a browser would leave them out.
TEST_F(StatusPageTest, NothingIsInlineOrFromElsewhere) {
  for (const auto& [path, page] : pages_) {
    const std::string body = Get(path).body;
    EXPECT_THAT(body, Not(HasSubstr("style=\""))) << path;
    EXPECT_THAT(body, Not(HasSubstr("onclick="))) << path;
    EXPECT_THAT(body, Not(HasSubstr("innerHTML"))) << path;
    EXPECT_THAT(body, Not(HasSubstr("https://"))) << path;
  }
}

TEST_F(StatusPageTest, TheStatusIsSentOnlyIfItChanged) {
  EXPECT_THAT(Get("/api/status").body, HasSubstr("train"));
  EXPECT_EQ(Get("/api/status").content_type, "application/json");
  EXPECT_THAT(Get("/api/status", "7-1").body, Not(HasSubstr("train")));
}

}  // namespace
}  // namespace muster::web
