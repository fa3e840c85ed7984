// The command line of the musterd binary.
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/daemon.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr Exit kOk{false, 0};
constexpr Exit kBadUsage{false, 64};
constexpr Exit kBadConfiguration{false, 64};

// Runs musterd until it ends on its own. Returns its output.
std::string RunMusterd(std::vector<std::string> flags, const Exit& expected,
                       const std::map<std::string, std::string>& env = {}) {
  flags.insert(flags.begin(), MusterdPath());
  const auto process = Process::Start(flags, env);
  EXPECT_EQ(process->Wait(), expected) << process->Output();
  return process->Output();
}

TEST(FlagsTest, HelpNamesFlagsDefaultsAndVariables) {
  EXPECT_THAT(RunMusterd({"--help"}, kOk),
              AllOf(HasSubstr("--listen HOST:PORT"), HasSubstr("default 127.0.0.1:7370"),
                    HasSubstr("MUSTER_MEMBER_GRACE"), HasSubstr("Examples:")));
}

TEST(FlagsTest, HelpFitsATerminal) {
  std::istringstream help(RunMusterd({"--help"}, kOk));
  for (std::string line; std::getline(help, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(FlagsTest, VersionIsOneLine) {
  EXPECT_THAT(RunMusterd({"--version"}, kOk),
              MatchesRegex("musterd [0-9]+\\.[0-9]+\\.[0-9]+ \\(protocol 1\\)\n"));
}

TEST(FlagsTest, UnknownFlagsAndStrayArgumentsAreNamed) {
  EXPECT_THAT(RunMusterd({"--world-sise=3"}, kBadUsage),
              AllOf(HasSubstr("--world-sise"), HasSubstr("musterd --help")));
  EXPECT_THAT(RunMusterd({"--wrold-size", "4", "stray"}, kBadUsage),
              HasSubstr("unknown flag or argument: --wrold-size 4 stray; did you mean "
                        "--world-size?\n"));
  EXPECT_THAT(RunMusterd({"--job"}, kBadUsage), HasSubstr("--job"));
}

TEST(FlagsTest, BadValuesAreNamedWithWhatWasExpected) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"--world-size=many", {"--world-size", "\"many\"", "whole number"}},
      {"--world-size=-1", {"--world-size", "\"-1\""}},
      {"--world-size=4294967296", {"--world-size", "4294967295"}},
      {"--world-size=100000", {"--world-size 100000", "--max-members"}},
      {"--member-grace=2", {"--member-grace", "\"2\"", "1m30s"}},
      {"--member-grace=-2s", {"--member-grace", "\"-2s\""}},
      {"--keepalive-time=inf", {"--keepalive-time", "\"inf\""}},
      {"--keepalive-time=1ms", {"keepalive time is 1ms", "10ms to 24h"}},
      {"--recovery-grace=18s", {"--recovery-grace is 18s", "more than 18s", "--keepalive-time"}},
      {"--max-world-size=4", {"--max-world-size 4 needs --min-world-size"}},
      {"--default-wait-timeout=0s", {"--default-wait-timeout", "positive"}},
      {"--max-payload-bytes=64MB", {"--max-payload-bytes", "\"64MB\"", "MiB"}},
      {"--max-payload-bytes=17179869184GiB", {"--max-payload-bytes"}},
      {"--max-waiters=0", {"--max-waiters must be at least 1"}},
      {"--job=", {"--job", "missing"}},
      {"--job=a\nb", {"--job", "control character"}},
      {"--listen=7370", {"'7370'", "host:port", "[::1]:7370"}},
      {"--listen=127.0.0.1:99999", {"'127.0.0.1:99999'", "from 0 to 65535"}},
      {"--log-level=loud", {"--log-level", "\"loud\"", "debug, info"}},
      {"--log-format=xml", {"--log-format", "\"xml\"", "text or json"}},
  };
  for (const auto& [flag, texts] : cases) {
    const std::string output = RunMusterd({"--listen=127.0.0.1:0", flag}, kBadUsage);
    for (const std::string& text : texts) EXPECT_THAT(output, HasSubstr(text)) << flag;
  }
}

TEST(FlagsTest, BadVariablesAreNamedToo) {
  EXPECT_THAT(RunMusterd({}, kBadUsage, {{"MUSTER_WORLD_SIZE", "many"}}),
              HasSubstr("MUSTER_WORLD_SIZE"));
  EXPECT_THAT(RunMusterd({}, kBadUsage, {{"MUSTER_INSECURE", "maybe"}}),
              AllOf(HasSubstr("--insecure"), HasSubstr("true or false")));
}

TEST(FlagsTest, AnAddressThatOthersCanReachNeedsCredentials) {
  EXPECT_THAT(RunMusterd({"--listen=0.0.0.0:0"}, kBadConfiguration),
              AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--token-file"), HasSubstr("--insecure")));
  EXPECT_THAT(RunMusterd({"--listen=127.0.0.1:0"}, kBadConfiguration,
                         {{"MUSTER_TOKEN_FILE", "/no/such/file"}}),
              AllOf(HasSubstr("/no/such/file"), HasSubstr("No such file")));
}

TEST(FlagsTest, APortFileThatCannotBeWrittenIsNamed) {
  EXPECT_THAT(
      RunMusterd({"--listen=127.0.0.1:0", "--port-file=/no/such/directory/port"}, kBadUsage),
      AllOf(HasSubstr("--port-file"), HasSubstr("/no/such/directory/port"),
            HasSubstr("No such file")));
}

}  // namespace
}  // namespace muster::testing
