// Tests of the queue of log lines: their order, and a log that blocks.
#include "client/src/control_plane/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/log.h"

namespace muster::internal {
namespace {

using ::testing::ElementsAre;

// The SDK's log, which blocks in the line "block" until it is released, and tells of "next".
class TestLog {
 public:
  TestLog() {
    SetLogSink([this](LogLevel, absl::string_view line) {
      if (line == "block") {
        blocked_.set_value();
        released_.get_future().wait();
      }
      lines_.emplace_back(line);
      if (line == "next") next_.set_value();
    });
  }
  ~TestLog() { SetLogSink(nullptr); }

  void AwaitBlocked() { blocked_.get_future().wait(); }
  void Release() { released_.set_value(); }
  void AwaitNext() { next_.get_future().wait(); }
  // Ends the log, and returns its lines.
  const std::vector<std::string>& lines() {
    SetLogSink(nullptr);
    return lines_;
  }

 private:
  std::promise<void> blocked_, released_, next_;
  std::vector<std::string> lines_;
};

std::unique_ptr<LogWriter> Start(size_t lines, absl::Duration patience) {
  return *LogWriter::Start({lines, patience});
}

WriteLog Line(std::string text) { return {LogLevel::kInfo, std::move(text)}; }

TEST(LogWriterTest, WritesLinesInOrder) {
  TestLog log;
  const auto writer = Start(100, absl::Hours(1));
  for (const char* text : {"a", "b", "c"}) writer->Add(Line(text));
  writer->AwaitWritten();
  EXPECT_THAT(log.lines(), ElementsAre("a", "b", "c"));
}

TEST(LogWriterTest, WritesTheRestAtItsEnd) {
  TestLog log;
  Start(100, absl::Hours(1))->Add(Line("last"));
  EXPECT_THAT(log.lines(), ElementsAre("last"));
}

TEST(LogWriterTest, ABlockedLogLosesTheOldestLinesAndSaysHowMany) {
  TestLog log;
  const auto writer = Start(2, absl::Hours(1));
  writer->Add(Line("block"));
  log.AwaitBlocked();
  for (int i = 0; i < 5; ++i) writer->Add(Line(absl::StrCat(i)));
  log.Release();
  writer->AwaitWritten();
  EXPECT_THAT(log.lines(),
              ElementsAre("block",
                          "lines of this log that are missing here, because the log was blocked: 3",
                          "3", "4"));
}

TEST(LogWriterTest, ABlockedLogHoldsUpNoThread) {
  TestLog log;
  auto writer = Start(100, absl::ZeroDuration());
  writer->Add(Line("block"));
  log.AwaitBlocked();
  writer->Add(Line("next"));
  writer->AwaitWritten();
  writer.reset();
  log.Release();
  log.AwaitNext();  // from the thread, which outlives the writer
  EXPECT_THAT(log.lines(), ElementsAre("block", "next"));
}

}  // namespace
}  // namespace muster::internal
