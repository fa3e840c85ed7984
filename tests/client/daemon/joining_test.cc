// Tests of joining, and of the ways in which it can fail, through a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "muster/error_facts.h"
#include "muster/exit_code.h"
#include "muster/job.h"
#include "muster/log.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A bound TCP port of 127.0.0.1, which listens only if told to. It never answers.
class SilentPort {
 public:
  explicit SilentPort(bool listens) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    if (listens) {
      EXPECT_EQ(listen(fd_, 16), 0);
    }
    port_ = ntohs(address.sin_port);
  }
  ~SilentPort() { close(fd_); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  const int fd_;
  int port_ = 0;
};

absl::Status JoinError(const JobOptions& options) { return Job::Join(options).status(); }

// Joins with a short time-out, and retries with longer ones until the error contains `words`. On a
// busy machine, a short time-out may end before the process reaches the expected step.
absl::Status JoinErrorWith(JobOptions options, absl::string_view words) {
  options.timeout = absl::Milliseconds(300);
  absl::Status status = JoinError(options);
  while (!absl::StrContains(status.message(), words) && options.timeout < absl::Minutes(1)) {
    options.timeout *= 2;
    status = JoinError(options);
  }
  return status;
}

std::future<absl::StatusOr<std::unique_ptr<Job>>> StartJoin(const JobOptions& options) {
  return std::async(std::launch::async, [options] { return Job::Join(options); });
}

TEST(JoiningTest, RanksNodesAndMembers) {
  Jobs jobs(4, {}, [](int rank, JobOptions* options) { options->node_id = rank < 3 ? "a" : "b"; });
  jobs.Run([](int rank, Job& job) {
    EXPECT_EQ(job.rank(), rank);
    EXPECT_EQ(job.world_size(), 4);
    EXPECT_EQ(job.node_id(), rank < 3 ? "a" : "b");
    EXPECT_EQ(job.local_world_size(), rank < 3 ? 3 : 1);
    EXPECT_EQ(job.local_rank(), rank % 3);
    EXPECT_EQ(job.node_rank(), rank / 3);
    EXPECT_EQ(job.num_nodes(), 2);
    EXPECT_TRUE(job.is_distributed());
    EXPECT_EQ(job.members().size(), 4);
    EXPECT_EQ(job.members()[rank].pid, getpid());
    EXPECT_EQ(job.world().local_address(), "127.0.0.1");
  });
}

TEST(JoiningTest, MembersWithoutARankGetDistinctRanks) {
  Jobs jobs(3, {}, [](int, JobOptions* options) { options->rank.reset(); });
  std::set<int> ranks;
  for (int i = 0; i < 3; ++i) ranks.insert(jobs[i].rank());
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));
}

TEST(JoiningTest, WorldSizeMayComeFromTheDaemon) {
  Jobs jobs(2, {"--world-size=2"}, [](int, JobOptions* options) { options->world_size.reset(); });
  EXPECT_EQ(jobs[0].world_size(), 2);
}

TEST(JoiningTest, NameIsResolved) {
  const auto daemon = TestDaemon::Start();
  Jobs jobs(absl::StrCat("localhost:", daemon->port()), 2);
  for (const absl::Status& status : jobs.OnAll([](Job& job) { return job.Barrier(); })) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

bool HasIPv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  const bool works =
      fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return works;
}

TEST(JoiningTest, IPv6Works) {
  if (!HasIPv6()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const auto daemon = TestDaemon::Start({}, {}, "[::1]:0");
  ASSERT_NE(daemon, nullptr);
  Jobs jobs(absl::StrCat("[::1]:", daemon->port()), 2);
  for (const auto& all : jobs.OnAll([](Job& job) { return job.AllGather(job.rank()); })) {
    EXPECT_EQ(*all, (std::vector<int>{0, 1}));
  }
  EXPECT_EQ(jobs[0].world().local_address(), "::1");
}

TEST(JoiningTest, AnUnknownHostIsNamedWithThePhase) {
  JobOptions options = OptionsFor("no-such-host.invalid:7370");
  options.timeout = absl::Milliseconds(300);
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status),
              HasSubstr("resolving the coordinator's name 'no-such-host.invalid'"));
}

TEST(JoiningTest, AClosedPortIsNamedWithThePhase) {
  const SilentPort port(/*listens=*/false);
  const absl::Status status = JoinErrorWith(OptionsFor(port.address()), "refused");
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("while connecting to the coordinator at " + port.address()),
                    HasSubstr("refused")));
}

TEST(JoiningTest, ASilentListenerIsNamedWithThePhase) {
  const SilentPort port(/*listens=*/true);
  JobOptions options = OptionsFor(port.address());
  options.timeout = absl::Milliseconds(500);
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status), HasSubstr("while connecting to the coordinator at"));
}

TEST(JoiningTest, MissingMembersAreCounted) {
  const auto daemon = TestDaemon::Start();
  JobOptions options = OptionsFor(daemon->address());
  options.world_size = 3;
  options.rank = 1;
  const absl::Status status = JoinErrorWith(options, "for members: ");
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("joining job 'default': waited "),
                    HasSubstr("s for members: 1 of 3 have joined; missing: ranks 0,2")));
  EXPECT_THAT(FactsOf(status).missing_ranks, ElementsAre(0, 2));
}

TEST(JoiningTest, ADaemonThatStartsLaterIsFound) {
  const auto daemon = TestDaemon::Start();
  daemon->Kill();
  JobOptions options = OptionsFor(daemon->address());
  options.world_size = 1;
  absl::Notification missed;
  SetLogSink([&](LogLevel, absl::string_view line) {
    const bool misses = absl::StrContains(line, "cannot reach the coordinator");
    if (misses && !missed.HasBeenNotified()) missed.Notify();
  });
  auto joining = StartJoin(options);
  missed.WaitForNotification();
  SetLogSink(nullptr);
  daemon->Restart();
  const absl::StatusOr<std::unique_ptr<Job>> job = joining.get();
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_TRUE((*job)->Barrier().ok());
}

TEST(JoiningTest, WrongJobIsRefused) {
  const auto daemon = TestDaemon::Start({"--job=training"});
  JobOptions options = OptionsFor(daemon->address());
  options.job = "evaluation";
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
  EXPECT_THAT(Message(status), HasSubstr("serves job 'training'"));
}

TEST(JoiningTest, WorldSizesThatDisagreeAreRefused) {
  const auto daemon = TestDaemon::Start({"--world-size=3"});
  JobOptions options = OptionsFor(daemon->address());
  options.world_size = 2;
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("expects 2"), HasSubstr("says 3")));
}

TEST(JoiningTest, EitherAllAskForARankOrNone) {
  const auto daemon = TestDaemon::Start({"--world-size=3"});
  JobOptions options = OptionsFor(daemon->address());
  Cancellation cancellation;
  auto first = std::async(std::launch::async, [&] { return Job::Join(options, &cancellation); });
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForParked(1, "Join"));
  JobOptions other = options;
  other.rank = 1;
  const absl::Status status = JoinError(other);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
  EXPECT_THAT(Message(status), HasSubstr("either every member asks for a rank or none does"));
  cancellation.Cancel();
  EXPECT_EQ(first.get().status().code(), absl::StatusCode::kCancelled);
}

TEST(JoiningTest, RankOutOfRangeIsRefused) {
  const auto daemon = TestDaemon::Start({"--world-size=2"});
  JobOptions options = OptionsFor(daemon->address());
  options.rank = 2;
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
  EXPECT_THAT(Message(status), HasSubstr("rank 2 is out of range"));
}

TEST(JoiningTest, RankOfALiveMemberIsNotGivenTwice) {
  const auto daemon = TestDaemon::Start({"--member-grace=100ms"});
  JobOptions options = OptionsFor(daemon->address());
  options.world_size = 2;
  options.rank = 0;
  auto first = StartJoin(options);
  auto second = StartJoin(options);
  // Waits for the call that is rejected. The other one holds the rank.
  while (first.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready &&
         second.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
  const bool first_refused = first.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  const absl::Status status = (first_refused ? first : second).get().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
  EXPECT_THAT(Message(status), HasSubstr("rank 0 is asked for twice"));
  options.rank = 1;
  EXPECT_TRUE(StartJoin(options).get().ok());
  EXPECT_TRUE((first_refused ? second : first).get().ok());
}

TEST(JoiningTest, AProcessThatJoinsTwiceIsToldToUseTheJobThatItHas) {
  Jobs jobs(2);
  JobOptions options = OptionsFor(jobs.daemon().address());
  const auto refusal = [&](int rank) {
    return absl::StrCat("this process has already joined job '", jobs[0].id(), "', as rank ", rank,
                        "; use the Job that it has");
  };
  // Either of the two jobs of this process may have been first.
  const std::vector<std::pair<std::optional<int>, ::testing::Matcher<std::string>>> cases = {
      {0, refusal(0)}, {1, refusal(1)}, {std::nullopt, AnyOf(refusal(0), refusal(1))}};
  for (const auto& [rank, expected] : cases) {
    options.rank = rank;
    const absl::Status status = JoinError(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(ExitCode(status), kExitBadConfiguration);
    EXPECT_THAT(Message(status), expected);
  }
}

TEST(JoiningTest, AProcessMayBeInSeveralJobs) {
  Jobs jobs(1);
  Jobs others(1);  // the same name, at another coordinator
  EXPECT_TRUE(jobs[0].Barrier().ok());
  EXPECT_TRUE(others[0].Barrier().ok());
}

TEST(JoiningTest, FullJobIsRefused) {
  Jobs jobs(1);
  // The coordinator has another name here, so this process looks like another job's.
  const absl::Status status =
      JoinError(OptionsFor(absl::StrCat("localhost:", jobs.daemon().port())));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("the job is full"));
  EXPECT_EQ(ExitCode(status), 1) << "the job, which goes well, must not be given up for it";
}

TEST(JoiningTest, FinishedJobIsRefused) {
  Jobs jobs(1);
  ASSERT_TRUE(jobs[0].Leave().ok());
  const absl::Status status = JoinError(OptionsFor(jobs.daemon().address()));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("the job is finished"));
  EXPECT_EQ(ExitCode(status), 1) << "a success must not be made a failure for it";
}

// Systemd or a container engine may restart a process before the grace of the old one is over.
TEST(JoiningTest, AnEarlyRestartLearnsThatTheJobHasFailed) {
  Jobs jobs(2, {"--member-grace=300ms"});
  jobs.Destroy(1);
  ASSERT_TRUE(StatusReader(jobs.daemon().address()).WaitFor([](const auto& status) {
    return status.members(1).state() != v1::MEMBER_STATE_RUNNING;
  }));
  JobOptions options = OptionsFor(jobs.daemon().address());
  options.rank = 1;
  const absl::Status status = JoinError(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_EQ(ExitCode(status), kExitPeerLost);
}

TEST(JoiningTest, JoinCanBeCancelled) {
  const auto daemon = TestDaemon::Start();
  JobOptions options = OptionsFor(daemon->address());
  options.world_size = 2;
  Cancellation cancellation;
  auto joining = std::async(std::launch::async, [&] { return Job::Join(options, &cancellation); });
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForParked(1, "Join"));
  cancellation.Cancel();
  EXPECT_EQ(joining.get().status().code(), absl::StatusCode::kCancelled);
}

TEST(MembersTest, HaveTopologyAndProcessAlsoAfterARestart) {
  Jobs jobs(2, {"--min-world-size=2", "--settle=100ms"}, [](int index, JobOptions* options) {
    options->node_id = "pod";
    options->topology = index == 0 ? "zone/rack-1" : "";
  });
  const std::vector<Member> before = jobs[1].members();
  EXPECT_EQ(before[0].topology, "zone/rack-1");
  EXPECT_EQ(before[1].topology, "");
  EXPECT_EQ(before[0].incarnation.size(), 16u);
  EXPECT_NE(before[0].incarnation, before[1].incarnation);
  EXPECT_EQ(before[0].pid, before[1].pid);
  jobs.KillDaemon();
  jobs.StartDaemonAgain();
  jobs.Run([](int rank, Job& job) { EXPECT_EQ(job.Barrier(), absl::OkStatus()); });
  // Runs after all ranks have the barrier's answer: otherwise a rejoin could end the barrier with
  // an error.
  jobs.Run([&](int rank, Job& job) {
    EXPECT_TRUE(job.Rejoin().ok());
    EXPECT_EQ(job.members()[0].topology, "zone/rack-1");
    EXPECT_EQ(job.members()[0].incarnation, before[0].incarnation);
  });
}

}  // namespace
}  // namespace muster::testing
