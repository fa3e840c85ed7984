// Tests of the small helpers below the control planes, and of the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "client/src/base/checks.h"
#include "client/src/base/deadline.h"
#include "client/src/base/local_address.h"
#include "client/src/base/outcome.h"
#include "client/src/environment/identity.h"
#include "client/src/environment/process_fingerprint.h"
#include "common/process/cpu_affinity.h"
#include "common/text/number_ranges.h"
#include "common/text/utf8.h"
#include "muster/call_options.h"
#include "muster/log.h"
#include "muster/version.h"

namespace muster::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(LocalAddressTest, LoopbackIsReachedFromLoopback) {
  EXPECT_EQ(LocalAddressTowards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(LocalAddressTowards("no address"), "");
}

TEST(ChecksTest, NamesAreBoundedPrintableUtf8) {
  EXPECT_TRUE(CheckName("label", "epoch 3 – Größe 日本 😀", 256).ok());
  EXPECT_THAT(std::string(CheckName("label", "", 256).message()), HasSubstr("the label is empty"));
  EXPECT_THAT(std::string(CheckName("label", std::string(257, 'a'), 256).message()),
              HasSubstr("257 bytes; at most 256"));
  EXPECT_THAT(std::string(CheckName("label", "a\x01", 256).message()),
              HasSubstr("control character at position 1"));
  for (const char* bad : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xe2\x82", "\xff"}) {
    EXPECT_THAT(std::string(CheckText("label", bad, 256).message()), HasSubstr("not UTF-8"));
  }
}

TEST(ChecksTest, PrintableReplacesRefusedBytes) {
  EXPECT_EQ(ReplaceUnprintable("disk\tfull \xff\n"), "disk?full ??");
  EXPECT_TRUE(CheckText("text", ReplaceUnprintable("\xe2\x82"), 10).ok());
}

TEST(ChecksTest, TimeoutsAreFiniteAndNotNegative) {
  EXPECT_TRUE(CheckTimeout("timeout", absl::ZeroDuration()).ok());
  EXPECT_FALSE(CheckTimeout("timeout", -absl::Seconds(1)).ok());
  EXPECT_FALSE(CheckTimeout("timeout", absl::InfiniteDuration()).ok());
}

TEST(DeadlineTest, ALatePartNamesTheWholeTimeout) {
  const SteadyTime now = SteadyClock::now();
  const Deadline whole(now - std::chrono::seconds(20), absl::Minutes(1));
  const absl::Status late = whole.RunPart([](absl::Duration left) {
    EXPECT_LE(left, absl::Seconds(40));
    return absl::DeadlineExceededError("it did not end within 40s");
  });
  EXPECT_THAT(std::string(late.message()),
              AllOf(StartsWith("it did not end within 40s ("), EndsWith(" of the call's 1m)")));
  const absl::Status broken = absl::UnavailableError("broken");
  EXPECT_EQ(whole.RunPart([&](absl::Duration) { return broken; }), broken);
}

TEST(DeadlineTest, APartWithAllTheTimeNamesOnlyItsTimeout) {
  const Deadline whole(absl::Hours(1), nullptr);
  const absl::Status late = absl::DeadlineExceededError("it did not end within 1h");
  EXPECT_EQ(whole.NameWhole(late, whole.timeout()), late);
}

TEST(OutcomeTest, CarriesValuesAndErrors) {
  EXPECT_EQ(*UnpackOutcome(PackOutcome(std::string("value"))), "value");
  EXPECT_EQ(UnpackOutcome(PackOutcome(absl::DataLossError("disk"))).status(),
            absl::DataLossError("disk"));
  EXPECT_EQ(UnpackOutcome("").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(UnpackOutcome("\x7f").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(IdentityTest, FirstJobOfAProcessHasTheGivenSecret) {
  JobOptions options;
  options.process_secret = "00112233445566778899aabbccddeeff";
  const Identity first = NextIdentity(options);
  const Identity second = NextIdentity(options);
  EXPECT_EQ(first.secret, absl::string_view("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb"
                                            "\xcc\xdd\xee\xff",
                                            16));
  EXPECT_EQ(second.secret.size(), 16);
  EXPECT_NE(second.secret, first.secret);
  EXPECT_NE(second.incarnation, first.incarnation);
  EXPECT_LT(first.start_time_micros, second.start_time_micros);
  EXPECT_EQ(first.pid, getpid());
}

TEST(IdentityTest, HasTheCpusOfABoundProcessOnly) {
  unsetenv("MUSTER_BIND_TO");
  EXPECT_EQ(NextIdentity({}).cpus, "");
  setenv("MUSTER_BIND_TO", "core", 1);
  EXPECT_EQ(NextIdentity({}).cpus, NumberRanges(CpusOf(getpid())));
  unsetenv("MUSTER_BIND_TO");
}

TEST(IdentityTest, NodeIsMoreThanItsName) {
  EXPECT_THAT(DefaultNodeId(), HasSubstr(Hostname() + "/"));
  EXPECT_GT(DefaultNodeId().size(), Hostname().size() + 30);
  JobOptions options;
  options.node_id = "mine";
  EXPECT_EQ(NextIdentity(options).node_id, "mine");
}

TEST(ProcessFingerprintTest, HasVersionsAndSettings) {
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_EMPTY", "", 1);
  setenv("NCCL_TEXT", "two\nlines", 1);
  setenv("NCCL_IB_KEY", "hidden", 1);
  setenv("NCCL_HOSTID", "own", 1);
  setenv("NCCL_LONG", std::string(10000, 'x').c_str(), 1);
  setenv("OTHER", "excluded", 1);
  const ProcessFingerprint own = OwnFingerprint();
  EXPECT_EQ(own.facts.at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(own.facts.at("NCCL_EMPTY"), "");
  EXPECT_EQ(own.facts.at("NCCL_TEXT"), "two?lines");
  EXPECT_EQ(own.facts.at("NCCL_LONG").size(), 512);
  EXPECT_EQ(own.facts.at("Muster"), MUSTER_VERSION);
  EXPECT_THAT(own.facts.at("program"), ::testing::MatchesRegex("common_test, build [0-9a-f]{12}"));
  for (const char* excluded : {"NCCL_IB_KEY", "NCCL_HOSTID", "OTHER"}) {
    EXPECT_EQ(own.facts.count(excluded), 0) << excluded;
  }
  EXPECT_TRUE(own.free_shared_memory.has_value());
}

TEST(ProcessFingerprintTest, LibrariesAddFacts) {
  RegisterFact("Library", [] { return std::string("1.2"); });
  RegisterFact("Missing", [] { return std::string(); });
  EXPECT_EQ(OwnFingerprint().facts.at("Library"), "1.2");
  EXPECT_EQ(OwnFingerprint().facts.count("Missing"), 0);
}

TEST(CancellationTest, WakesEachAddedCallback) {
  Cancellation cancellation;
  int first = 0, second = 0, late = 0;
  const int64_t number = cancellation.Add([&] { ++first; });
  cancellation.Add([&] { ++second; });
  cancellation.Remove(number);
  EXPECT_FALSE(cancellation.cancelled());
  cancellation.Cancel();
  cancellation.Cancel();
  cancellation.Add([&] { ++late; });
  EXPECT_TRUE(cancellation.cancelled());
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
  EXPECT_EQ(late, 1);
}

TEST(CancellationTest, RemoveWaitsForARunningCallback) {
  Cancellation cancellation;
  absl::Notification running, proceed;
  bool done = false;
  const int64_t number = cancellation.Add([&] {
    running.Notify();
    proceed.WaitForNotification();
    done = true;
  });
  std::thread canceller([&] { cancellation.Cancel(); });
  running.WaitForNotification();
  std::thread releaser([&] { proceed.Notify(); });
  cancellation.Remove(number);
  EXPECT_TRUE(done);
  canceller.join();
  releaser.join();
}

TEST(LogTest, SinkGetsEveryLine) {
  std::vector<std::pair<LogLevel, std::string>> lines;
  SetLogSink([&](LogLevel level, absl::string_view line) { lines.emplace_back(level, line); });
  Log(LogLevel::kDebug, "detail");
  Log(LogLevel::kError, "trouble");
  SetLogSink(nullptr);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kError, "after the sink");
  Log(LogLevel::kInfo, "below the default level");
  const std::string output = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines,
              ElementsAre(Pair(LogLevel::kDebug, "detail"), Pair(LogLevel::kError, "trouble")));
  EXPECT_THAT(output, HasSubstr("muster error: after the sink\n"));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("below the default level")));
}

}  // namespace
}  // namespace muster::internal
