// Tests of log files of ranks that are slow or cannot be written.
#include "client/cli/run/log_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::cli {
namespace {

using muster::testing::MakeTempDir;
using muster::testing::WaitUntil;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kChunk = 1 << 16;

// A log file that is written no faster than the test reads it.
class SlowLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = MakeTempDir() + "/rank-7.log";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const absl::StatusOr<int> log = logs_.Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    log_ = *log;
    stream_ = logs_.AddStream(log_);
  }
  void TearDown() override { close(reader_); }

  void WriteLines(size_t bytes) {
    const std::string chunk = std::string(kChunk - 1, 'x') + "\n";
    for (size_t written = 0; written < bytes; written += kChunk) logs_.Write(log_, stream_, chunk);
  }
  std::string ReadAll() {
    std::string all;
    std::string buffer(kChunk, '\0');
    WaitUntil([&] {
      for (ssize_t size; (size = read(reader_, buffer.data(), buffer.size())) > 0;) {
        all.append(buffer, 0, size);
      }
      return logs_.pending() == 0;
    });
    return all;
  }

  LogFiles logs_;
  int reader_ = -1;
  int log_ = 0;
  int stream_ = 0;
};

TEST_F(SlowLogTest, NotesDroppedBytesInTheFile) {
  WriteLines(LogFiles::kMaxBacklog);
  EXPECT_THAT(logs_.TakeWarnings(), IsEmpty());
  WriteLines(2 * kChunk);
  EXPECT_THAT(logs_.TakeWarnings(), ElementsAre(HasSubstr("rank-7.log cannot be written as fast")));
  WriteLines(kChunk);
  EXPECT_THAT(logs_.TakeWarnings(), IsEmpty()) << "once is enough";
  ReadAll();
  logs_.Write(log_, stream_, "later\n");
  EXPECT_THAT(ReadAll(),
              ::testing::ContainsRegex("^muster: [0-9]+ bytes are missing here.*\nlater\n$"));
}

TEST_F(SlowLogTest, IsReportedIfItCannotBeWritten) {
  signal(SIGPIPE, SIG_IGN);  // as in the launcher
  close(reader_);
  WriteLines(2 * kChunk);
  ASSERT_TRUE(WaitUntil([&] { return logs_.pending() == 0; }));
  EXPECT_THAT(logs_.TakeWarnings(), ElementsAre(HasSubstr("rank-7.log: Broken pipe")));
  reader_ = -1;
}

}  // namespace
}  // namespace muster::cli
