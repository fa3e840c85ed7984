// The metrics of a real job, as Prometheus reads them: a real musterd and real ranks.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/network/http.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::Ge;
using ::testing::Le;

// Series by name and labels, as they stand in the text.
using Series = std::map<std::string, double>;

class Scraper {
 public:
  Scraper() : port_file_(absl::StrCat(MakeTempDir(), "/metrics-port")) {}

  Args Flags() const { return {"--metrics-listen=:0", "--metrics-port-file=" + port_file_}; }

  Series Scrape() const {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(ReadFile(port_file_), &port));
    const HttpResponse answer = Get(port, "/metrics");
    EXPECT_EQ(answer.status, 200);
    Series series;
    for (absl::string_view line : absl::StrSplit(answer.body, '\n', absl::SkipEmpty())) {
      if (absl::StartsWith(line, "#")) continue;
      const size_t space = line.rfind(' ');
      EXPECT_TRUE(
          absl::SimpleAtod(line.substr(space + 1), &series[std::string(line.substr(0, space))]))
          << line;
    }
    return series;
  }

  double Value(const std::string& name) const {
    const Series series = Scrape();
    const auto found = series.find(name);
    EXPECT_NE(found, series.end()) << name;
    return found == series.end() ? -1 : found->second;
  }

  bool Await(const std::string& name, double value) const {
    return WaitUntil([&] { return Value(name) == value; });
  }

 private:
  const std::string port_file_;
};

Args With(Args flags, const Args& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

TEST(ScrapeTest, DescribesARunningJob) {
  const Scraper scraper;
  const auto daemon = TestDaemon::Start(With(scraper.Flags(), {"--world-size=3", "--job=train"}));
  EXPECT_THAT(scraper.Value("muster_job_state{state=\"forming\"}"), DoubleEq(1));
  const Gate gate;
  const auto run =
      LaunchAt(*daemon, 3, {"2:paced=300ms", "0:paced=0s", "1:paced=0s", gate.wait(), "leave"},
               {"--job=train", "--node-id=alpha"});
  ASSERT_TRUE(AwaitStep(*run, {0, 1, 2}, gate.wait())) << run->Output();
  const Series series = scraper.Scrape();
  EXPECT_EQ(series.at("muster_job_info{job_id=\"train\",elastic=\"false\"}"), 1);
  EXPECT_EQ(series.at("muster_job_state{state=\"running\"}"), 1);
  EXPECT_EQ(series.at("muster_world_size"), 3);
  EXPECT_EQ(series.at("muster_members{state=\"running\"}"), 3);
  EXPECT_EQ(series.at("muster_epochs_formed_total"), 1);
  EXPECT_THAT(series.at("muster_epoch_number"), Ge(1.7e15));
  EXPECT_EQ(series.at("muster_collectives_completed_total{kind=\"barrier\"}"), 20);
  EXPECT_THAT(series.at("muster_collective_arrivals_total{kind=\"barrier\"}"), Ge(60));
  const std::string labels = "{kind=\"barrier\",group=\"\",label=\"step #\"";
  EXPECT_EQ(series.at("muster_collective_wait_seconds_count" + labels + "}"), 20);
  EXPECT_THAT(series.at("muster_collective_wait_seconds_sum" + labels + "}"), Ge(20 * 0.2));
  EXPECT_THAT(series.at("muster_collective_wait_seconds_bucket" + labels + ",le=\"0.01\"}"), Le(5));
  EXPECT_THAT(series.at("muster_straggler_last_ratio{rank=\"2\",node=\"alpha\",operation=\"Barrier("
                        "'step #') of the world\"}"),
              Ge(0.8));
  EXPECT_EQ(series.at("muster_held_bytes_limit"), 4294967296.0);
  EXPECT_THAT(series.at("process_resident_memory_bytes"), Ge(1 << 20));
  gate.Open();
  EXPECT_EQ(run->Wait(), kSuccess);
  EXPECT_TRUE(scraper.Await("muster_job_state{state=\"finished\"}", 1));
}

// The launcher reports the loss before the grace is over.
TEST(ScrapeTest, CountsLossesByCause) {
  const Scraper scraper;
  const auto daemon =
      TestDaemon::Start(With(scraper.Flags(), {"--world-size=2", "--member-grace=1m"}));
  const Gate gate;
  const auto run = LaunchAt(*daemon, 2, {gate.wait(), "leave"});
  ASSERT_TRUE(AwaitStep(*run, {0, 1}, gate.wait())) << run->Output();
  kill(PidOf(1, *run), SIGKILL);
  EXPECT_TRUE(scraper.Await("muster_members_lost_total{cause=\"signaled\"}", 1));
  EXPECT_EQ(scraper.Value("muster_epochs_broken_total"), 1);
  EXPECT_EQ(scraper.Value("muster_job_state{state=\"failed\"}"), 1);
}

TEST(ScrapeTest, CountsUnauthenticatedCalls) {
  const Scraper scraper;
  const std::string token = absl::StrCat(MakeTempDir(), "/token");
  std::ofstream(token) << std::string(43, 't') << "\n";
  std::filesystem::permissions(token, std::filesystem::perms::owner_read);
  const auto daemon = TestDaemon::Start(
      With(scraper.Flags(), {"--world-size=1", absl::StrCat("--token-file=", token)}));
  EXPECT_EQ(scraper.Value("muster_unauthenticated_calls_total"), 0);
  EXPECT_EQ(StartRank(daemon->address(), 0, {"leave"})->Wait(), kRankError);
  EXPECT_THAT(scraper.Value("muster_unauthenticated_calls_total"), Ge(1));
}

}  // namespace
}  // namespace muster::testing
