// The log's own thread: if no process reads the log, no caller waits for it, and lost lines are
// counted.

#include "server/daemon/async_log.h"

#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/pattern_formatter.h"
#include "tests/util/process/test_pipe.h"

namespace muster::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kMaxLines = 10;
constexpr absl::Duration kForever = absl::Minutes(1);

class AsyncLogTest : public ::testing::Test {
 protected:
  AsyncLogTest() { signal(SIGPIPE, SIG_IGN); }

  ~AsyncLogTest() override {
    pipe_.Close();
    log_.reset();
    close(fd_);
  }

  void Log(int lines) {
    for (int i = 0; i < lines; ++i) log_->logger()->info("line {}.", ++logged_);
  }

  // Returns the lines without the bytes that have filled the pipe, which are no line.
  std::vector<std::string> Lines() const {
    const std::string& all = pipe_.read();
    return absl::StrSplit(all.substr(all.find_first_not_of('.')), '\n', absl::SkipEmpty());
  }

  testing::TestPipe pipe_;
  const int fd_ = pipe_.OpenToWrite();
  std::unique_ptr<AsyncLog> log_ =
      std::make_unique<AsyncLog>(fd_, kMaxLines, std::make_unique<spdlog::pattern_formatter>("%v"));
  int logged_ = 0;
};

TEST_F(AsyncLogTest, WritesLinesInTheirOrder) {
  Log(3);
  EXPECT_TRUE(log_->Flush(kForever));
  pipe_.ReadUntil("line 3.");
  EXPECT_THAT(Lines(), ElementsAre("line 1.", "line 2.", "line 3."));
}

TEST_F(AsyncLogTest, WithoutAReaderLoggingDoesNotBlockAndFlushIsBounded) {
  pipe_.Fill();
  Log(1000);
  EXPECT_FALSE(log_->Flush(absl::Milliseconds(1)));
}

TEST_F(AsyncLogTest, KeepsTheNewestLinesAndSaysHowManyAreMissing) {
  pipe_.Fill();
  Log(1000);
  ASSERT_TRUE(pipe_.ReadUntil("line 1000."));
  EXPECT_TRUE(log_->Flush(kForever));
  size_t missing = 0;
  size_t written = 0;
  for (const std::string& line : Lines()) {
    size_t number = 0;
    if (absl::StrContains(line, "lines of this log are missing") &&
        absl::SimpleAtoi(line.substr(0, line.find(' ')), &number)) {
      missing += number;
    } else {
      ++written;
    }
  }
  EXPECT_GE(missing, 1000 - kMaxLines - 1);
  EXPECT_EQ(missing + written, 1000);
}

TEST_F(AsyncLogTest, MissingLinesAreReportedOnce) {
  pipe_.Fill();
  Log(1000);
  ASSERT_TRUE(pipe_.ReadUntil("line 1000."));
  ASSERT_TRUE(log_->Flush(kForever));
  const size_t said = pipe_.read().size();
  Log(1);
  ASSERT_TRUE(pipe_.ReadUntil("line 1001."));
  EXPECT_THAT(pipe_.read().substr(said), Not(HasSubstr("missing")));
}

TEST_F(AsyncLogTest, LinesThatFailToBeWrittenAreCountedToo) {
  pipe_.Close();
  Log(5);
  EXPECT_TRUE(log_->Flush(kForever));
  testing::TestPipe other;
  ASSERT_EQ(dup2(other.OpenToWrite(), fd_), fd_);
  Log(1);
  ASSERT_TRUE(other.ReadUntil("line 6."));
  EXPECT_THAT(other.read(), HasSubstr("5 lines of this log are missing"));
}

}  // namespace
}  // namespace muster::daemon
