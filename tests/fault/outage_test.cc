// Network outages of several seconds, with musterd's default flags. Long outages make slow tests.
// So all jobs have theirs at the same time, each on its own cable to the single far node.

#include <sched.h>
#include <signal.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/process/namespaces.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string NetworkOf(const std::string& process) {
  std::error_code ignored;
  return std::filesystem::read_symlink(absl::StrCat("/proc/", process, "/ns/net"), ignored)
      .string();
}

// A second network namespace.
class FarNode {
 public:
  FarNode() : process_(Process::Start({"unshare", "--net", "sleep", "1000"})) {
    const auto there = [this] { return NetworkOf(pid()) != NetworkOf("self"); };
    WaitUntil([&] { return there() || !process_->Running(); });
    Sh("ip link set lo up");
    Sh(Enter() + "ip link set lo up");
  }

  std::string pid() const { return absl::StrCat(process_->pid()); }
  std::string Enter() const { return absl::StrCat("nsenter --net --target ", pid(), " "); }

  // Returns the first command that failed, which is why the tests cannot run, or "".
  const std::string& why_not() const { return skip_reason_; }

  void Sh(const std::string& command) {
    auto process = Process::Start({"sh", "-c", command});
    if (!(process->Wait() == kSuccess) && skip_reason_.empty()) {
      skip_reason_ = absl::StrCat("'", command, "' failed here: ", process->Output());
    }
  }

 private:
  const std::unique_ptr<Process> process_;
  std::string skip_reason_;
};

// A job of two ranks. Rank 0 and the daemon are on this side, rank 1 on the far node.
class Job {
 public:
  Job(FarNode* node, int number)
      : node_(node),
        net_(absl::StrCat("10.77.", number, ".")),
        near_(absl::StrCat("near", number)),
        far_(absl::StrCat("far", number)) {
    node_->Sh(absl::StrCat("ip link add ", near_, " type veth peer name ", far_, " netns ",
                           node_->pid()));
    node_->Sh(absl::StrCat("ip address add ", net_, "1/24 dev ", near_));
    node_->Sh(absl::StrCat("ip link set ", near_, " up"));
    node_->Sh(absl::StrCat(node_->Enter(), "ip address add ", net_, "2/24 dev ", far_));
    node_->Sh(absl::StrCat(node_->Enter(), "ip link set ", far_, " up"));
  }

  void Start(const std::string& step) {
    daemon_ = TestDaemon::Start({"--world-size=2", "--insecure"}, {}, "0.0.0.0:0");
    const std::string coordinator = absl::StrCat(net_, "1:", daemon_->port());
    const Args steps = {"0:" + gate_.wait(), step, "barrier", "leave"};
    rank_[0] = StartRank(coordinator, 0, steps);
    Args command = {"nsenter", "--net", "--target", node_->pid()};
    const Args rank = RankCommand(steps);
    command.insert(command.end(), rank.begin(), rank.end());
    rank_[1] = Process::Start(command, {{"MUSTER_COORDINATOR", coordinator}, {"MUSTER_RANK", "1"}});
  }

  // Rank 1 waits for rank 0, which arrives when the gate opens: in a barrier, or for an answer of
  // 32 MiB.
  void StartIdle() { Start("barrier"); }
  void StartBusy() { Start("large"); }
  bool AwaitRankOne() { return StatusReader(daemon_->address()).WaitForParked(1); }

  void Cut() { node_->Sh(absl::StrCat("ip link set ", near_, " down")); }
  void Reconnect() { node_->Sh(absl::StrCat("ip link set ", near_, " up")); }
  void OpenGate() { gate_.Open(); }
  Process& rank(int rank) { return *rank_[rank]; }

  void ExpectSurvives(const std::string& what) {
    for (const auto& rank : rank_) {
      EXPECT_EQ(rank->Wait(), kSuccess) << what << "\n"
                                        << rank->Output() << daemon_->process().Output();
    }
  }

 private:
  FarNode* const node_;
  const std::string net_;
  const std::string near_;
  const std::string far_;
  const Gate gate_;
  std::unique_ptr<TestDaemon> daemon_;
  std::unique_ptr<Process> rank_[2];
};

// The events of all jobs, by time.
class Schedule {
 public:
  void At(absl::Duration time, std::function<void()> action) {
    actions_.emplace(time, std::move(action));
  }

  void Run() const {
    const absl::Time begin = absl::Now();
    for (const auto& [time, action] : actions_) {
      absl::SleepFor(begin + time - absl::Now());  // runs the rest of the outage
      action();
    }
  }

 private:
  std::multimap<absl::Duration, std::function<void()>> actions_;
};

constexpr int kOutages[] = {4, 8, 12};
constexpr int kTooLong = 22;  // more than both keepalive flags and the grace together

struct Jobs {
  explicit Jobs(FarNode* node) {
    int number = 0;
    for (int seconds : kOutages) {
      idle.emplace(seconds, std::make_unique<Job>(node, ++number));
      busy.emplace(seconds, std::make_unique<Job>(node, ++number));
    }
    for (auto* job : {&flapping, &flapping_busy, &stopped, &lost}) {
      *job = std::make_unique<Job>(node, ++number);
    }
  }

  std::vector<Job*> All() const {
    std::vector<Job*> all;
    for (const auto* jobs : {&idle, &busy}) {
      for (const auto& [seconds, job] : *jobs) all.push_back(job.get());
    }
    for (const auto* job : {&flapping, &flapping_busy, &stopped, &lost}) all.push_back(job->get());
    return all;
  }

  std::map<int, std::unique_ptr<Job>> idle;
  std::map<int, std::unique_ptr<Job>> busy;
  std::unique_ptr<Job> flapping;
  std::unique_ptr<Job> flapping_busy;
  std::unique_ptr<Job> stopped;
  std::unique_ptr<Job> lost;
};

class OutageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    skip_reason_ = EnterNamespaces(CLONE_NEWNET);
    if (!skip_reason_.empty()) return;
    node_ = std::make_unique<FarNode>();
    jobs_ = std::make_unique<Jobs>(node_.get());
    skip_reason_ = node_->why_not();
    if (skip_reason_.empty()) RunAll();
  }

  static void TearDownTestSuite() {
    jobs_.reset();
    node_.reset();
  }

  void SetUp() override {
    if (!skip_reason_.empty()) GTEST_SKIP() << skip_reason_;
  }

  static void RunAll() {
    StartAll();
    Schedule schedule;
    for (const auto& [seconds, job] : jobs_->idle) CutFor(seconds, job.get(), &schedule);
    for (const auto& [seconds, job] : jobs_->busy) {
      CutFor(seconds, job.get(), &schedule);
      SendAnswer(job.get(), &schedule);
    }
    CutFor(kTooLong, jobs_->lost.get(), &schedule);
    Flap(jobs_->flapping.get(), &schedule);
    Flap(jobs_->flapping_busy.get(), &schedule);
    SendAnswer(jobs_->flapping_busy.get(), &schedule);
    StopFor(10, jobs_->stopped.get(), &schedule);
    SendAnswer(jobs_->stopped.get(), &schedule);
    schedule.Run();
  }

  static void StartAll() {
    for (const auto& [seconds, job] : jobs_->idle) job->StartIdle();
    for (const auto& [seconds, job] : jobs_->busy) job->StartBusy();
    jobs_->flapping->StartIdle();
    jobs_->flapping_busy->StartBusy();
    jobs_->stopped->StartBusy();
    jobs_->lost->StartIdle();
    for (Job* job : jobs_->All()) ASSERT_TRUE(job->AwaitRankOne());
  }

  static void CutFor(int seconds, Job* job, Schedule* schedule) {
    schedule->At(absl::ZeroDuration(), [job] { job->Cut(); });
    schedule->At(absl::Seconds(seconds), [job] { Reconnect(job); });
  }

  static void Flap(Job* job, Schedule* schedule) {
    for (int seconds : {0, 6, 12}) {
      schedule->At(absl::Seconds(seconds), [job] { job->Cut(); });
      schedule->At(absl::Seconds(seconds + 3), [job] { Reconnect(job); });
    }
  }

  static void StopFor(int seconds, Job* job, Schedule* schedule) {
    schedule->At(absl::ZeroDuration(), [job] { job->rank(1).Signal(SIGSTOP); });
    schedule->At(absl::Seconds(seconds), [job] { job->rank(1).Signal(SIGCONT); });
  }

  // Sends an answer to rank 1, which cannot be reached or does not read.
  static void SendAnswer(Job* job, Schedule* schedule) {
    schedule->At(absl::ZeroDuration(), [job] { job->OpenGate(); });
  }

  static void Reconnect(Job* job) {
    job->Reconnect();
    job->OpenGate();
  }

  static std::string skip_reason_;
  static std::unique_ptr<FarNode> node_;
  static std::unique_ptr<Jobs> jobs_;
};

std::string OutageTest::skip_reason_;
std::unique_ptr<FarNode> OutageTest::node_;
std::unique_ptr<Jobs> OutageTest::jobs_;

TEST_F(OutageTest, TwelveSecondsAreSurvivedBySilentRanks) {
  for (const auto& [seconds, job] : jobs_->idle) job->ExpectSurvives(absl::StrCat(seconds, " s"));
}

TEST_F(OutageTest, TwelveSecondsAreSurvivedDuringALargeAnswer) {
  for (const auto& [seconds, job] : jobs_->busy) job->ExpectSurvives(absl::StrCat(seconds, " s"));
}

TEST_F(OutageTest, RepeatedOutagesAreSurvived) {
  jobs_->flapping->ExpectSurvives("silent");
  jobs_->flapping_busy->ExpectSurvives("with an answer on its way");
}

TEST_F(OutageTest, RankStoppedDuringALargeAnswerSurvives) {
  jobs_->stopped->ExpectSurvives("stopped for 10 s");
}

TEST_F(OutageTest, LongerThanTheFlagsAllowIsALoss) {
  for (int rank : {0, 1}) {
    EXPECT_EQ(jobs_->lost->rank(rank).Wait(), kRankError) << jobs_->lost->rank(rank).Output();
    EXPECT_THAT(jobs_->lost->rank(rank).Output(),
                AllOf(HasSubstr("ABORTED"), HasSubstr("rank 1"), HasSubstr("was lost")));
  }
}

}  // namespace
}  // namespace muster::testing
