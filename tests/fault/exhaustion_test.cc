// Exhausted resources of a machine: disk space and file descriptors.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/network/http.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Starts a command under a shell's settings, such as "ulimit -n 40".
std::unique_ptr<Process> StartUnder(const std::string& setting, const Args& command,
                                    const std::map<std::string, std::string>& env = {}) {
  Args all = {"sh", "-c", setting + "; exec \"$@\"", "sh"};
  all.insert(all.end(), command.begin(), command.end());
  return Process::Start(all, env);
}

// Returns a directory in which rank 0's log can be opened, but each write fails as on a full disk.
std::string FullLogDirectory() {
  const std::string directory = MakeTempDir();
  EXPECT_EQ(symlink("/dev/full", absl::StrCat(directory, "/rank-0.log").c_str()), 0);
  return directory;
}

TEST(FailedWritesTest, LogDirectoryIsReportedOnce) {
  auto run = Launch(2, {"barrier", "allgather", "leave"}, {"--log-dir", FullLogDirectory()});
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
  EXPECT_EQ(CountOf(run->Output(),
                    "rank-0.log: No space left on device; the rest of this rank's output is only "
                    "shown"),
            1)
      << run->Output();
  EXPECT_EQ(CountOf(run->Output(), "is done"), 2);  // lines that the log lacks are still shown
}

TEST(FailedWritesTest, DaemonLogDoesNotStopTheJob) {
  const std::string port_file = absl::StrCat(MakeTempDir(), "/port");
  auto daemon = StartUnder("exec 2>/dev/full", {MusterdPath(), "--listen=127.0.0.1:0",
                                                "--port-file", port_file, "--exit-when-done"});
  const int port = AwaitPort(*daemon, port_file);
  auto ranks = StartRanks(absl::StrCat("127.0.0.1:", port), 2, {"barrier", "leave"},
                          {{"MUSTER_WORLD_SIZE", "2"}});
  ExpectExits(ranks, kSuccess);
  EXPECT_EQ(daemon->Wait(), kSuccess);
}

constexpr char kFewDescriptors[] = "ulimit -n 48";  // of the daemon, for 16 members

class DescriptorsTest : public ::testing::Test {
 protected:
  std::string Start(const Args& flags) {
    const std::string port_file = absl::StrCat(MakeTempDir(), "/port");
    Args command = {MusterdPath(), "--listen=127.0.0.1:0", "--port-file", port_file};
    command.insert(command.end(), flags.begin(), flags.end());
    daemon_ = StartUnder(kFewDescriptors, command);
    port_ = AwaitPort(*daemon_, port_file);
    return absl::StrCat("127.0.0.1:", port_);
  }

  std::unique_ptr<Process> daemon_;
  int port_ = 0;
};

TEST_F(DescriptorsTest, TooLargeWorldIsRejectedAtStart) {
  auto daemon =
      StartUnder(kFewDescriptors, {MusterdPath(), "--listen=127.0.0.1:0", "--world-size=17"});
  EXPECT_EQ(daemon->Wait(), (Exit{false, 64}));
  EXPECT_THAT(daemon->Output(), AllOf(HasSubstr("--world-size is 17"), HasSubstr("ulimit -Hn"),
                                      HasSubstr("16 members")));
}

TEST_F(DescriptorsTest, TooLargeElasticWorldIsRejectedAtStart) {
  auto daemon = StartUnder(kFewDescriptors, {MusterdPath(), "--listen=127.0.0.1:0",
                                             "--min-world-size=1", "--max-world-size=17"});
  EXPECT_EQ(daemon->Wait(), (Exit{false, 64}));
  EXPECT_THAT(daemon->Output(), HasSubstr("--max-world-size is 17"));
}

TEST_F(DescriptorsTest, AWorldThatLeavesFewForLaunchersIsWarnedAboutAtStart) {
  Start({"--world-size=12"});
  EXPECT_TRUE(daemon_->WaitForOutput(
      "--world-size 12 leaves 4 for launchers, one a node, and 32 for everything else"));
}

TEST_F(DescriptorsTest, AWorldThatLeavesALauncherForEachMemberIsNotWarnedAbout) {
  Start({"--world-size=8"});
  EXPECT_THAT(daemon_->Output(), Not(HasSubstr("for launchers")));
}

// The flag that raises the limit, and how far it can.
constexpr char kRaise[] = "(musterd --max-members raises it, as far as its ulimit -Hn goes)";

// The daemon then keeps half of its descriptors for launchers.
TEST_F(DescriptorsTest, TooLargeWorldIsRejectedAtJoin) {
  const std::string coordinator = Start({});
  const auto rank = StartRank(coordinator, 0, {}, {{"MUSTER_WORLD_SIZE", "9"}});
  EXPECT_EQ(rank->Wait(), kRankError);
  EXPECT_THAT(rank->Output(),
              AllOf(HasSubstr("error: INVALID_ARGUMENT"),
                    HasSubstr(absl::StrCat("world size 9 is over the limit of 8 ", kRaise))));
}

TEST_F(DescriptorsTest, ExcessMembersAreToldTheLimit) {
  const std::string coordinator = Start({"--world-size=16"});
  const Gate gate;
  const auto ranks = StartRanks(coordinator, 16, {gate.wait(), "barrier", "leave"});
  for (const auto& rank : ranks) ASSERT_TRUE(rank->WaitForOutput("begins wait"));
  const auto one_more = StartRank(coordinator, -1, {});
  EXPECT_EQ(one_more->Wait(), kRankError);
  EXPECT_THAT(one_more->Output(),
              AllOf(HasSubstr("error: RESOURCE_EXHAUSTED"),
                    HasSubstr(absl::StrCat("16 members are attached, the limit ", kRaise))));
  gate.Open();
  ExpectExits(ranks, kSuccess);
}

// Connections of no member. The daemon must accept a connection before it can tell.
class Connections {
 public:
  explicit Connections(int port) : port_(port) {}
  ~Connections() { Close(); }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void Add(int count) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port_));
    for (int i = 0; i < count; ++i) {
      fds_.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(fds_.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    }
  }

  // Returns whether the daemon closes the newest connection within a second. It keeps those that it
  // has accepted.
  bool NewestIsEnded() const {
    pollfd ended = {fds_.back(), POLLRDHUP, 0};
    return poll(&ended, 1, 1000) == 1;
  }

  // Adds connections until several in a row are refused. A single refusal is not enough:
  // descriptors of closed connections may become free a moment later.
  void AddUntilRefused() {
    int in_a_row = 0;
    EXPECT_TRUE(WaitUntil([&] {
      Add(20);
      in_a_row = NewestIsEnded() ? in_a_row + 1 : 0;
      return in_a_row == 5;
    }));
  }

  void Close() {
    for (int fd : fds_) close(fd);
    fds_.clear();
  }

 private:
  int port_;
  std::vector<int> fds_;
};

TEST_F(DescriptorsTest, ExhaustedDaemonRejectsConnectionsUntilSomeEnd) {
  const std::string coordinator = Start({"--world-size=2"});
  Connections connections(port_);
  connections.AddUntilRefused();
  ASSERT_TRUE(daemon_->WaitForOutput("has no file descriptor left"));
  auto ranks = StartRanks(coordinator, 2, {"barrier", "leave"});
  for (auto& rank : ranks) {
    ASSERT_TRUE(rank->WaitForOutput("cannot reach the coordinator at " + coordinator));
  }
  connections.Close();
  ExpectExits(ranks, kSuccess);
}

class ScrapedDescriptorsTest : public DescriptorsTest {
 protected:
  ScrapedDescriptorsTest() {
    const std::string folder = MakeTempDir();
    daemon_ = StartUnder("ulimit -n 128",
                         {MusterdPath(), "--listen=127.0.0.1:0", "--port-file", folder + "/port",
                          "--metrics-listen=:0", "--metrics-port-file", folder + "/metrics"});
    port_ = AwaitPort(*daemon_, folder + "/port");
    EXPECT_TRUE(absl::SimpleAtoi(ReadFile(folder + "/metrics"), &metrics_port_));
  }

  bool Scraped() const { return Get(metrics_port_, "/metrics").status == 200; }

  int metrics_port_ = 0;
};

TEST_F(ScrapedDescriptorsTest, ExhaustedDaemonRejectsScrapesUntilConnectionsEnd) {
  Connections connections(port_);
  connections.AddUntilRefused();
  EXPECT_TRUE(WaitUntil([&] {
    connections.Add(1);  // replaces the connection of an answered scrape
    return Get(metrics_port_, "/metrics").status == 0;
  }));
  connections.Close();
  EXPECT_TRUE(WaitUntil([&] { return Scraped(); }));
}

// Both ports compete for the last descriptor.
TEST_F(ScrapedDescriptorsTest, ExcessIsRejectedAfterARaceForTheLastOne) {
  {
    Connections connections(port_);
    connections.AddUntilRefused();
    std::thread scraper([&] {
      for (int i = 0; i < 500; ++i) Scraped();
    });
    for (int i = 0; i < 20; ++i) {
      connections.Close();
      connections.Add(200);
    }
    connections.Close();
    scraper.join();
  }
  ASSERT_TRUE(WaitUntil([&] { return Scraped(); }));
  Connections(port_).AddUntilRefused();
}

TEST_F(DescriptorsTest, ExhaustedRankIsNamedToAllRanks) {
  const std::string coordinator = Start({"--world-size=2"});
  auto ranks = StartRanks(coordinator, 2,
                          {"barrier", "1:hoard", "barrier", "try:connect", "1:unhoard", "connect",
                           "allreduce", "leave"});
  ExpectExits(ranks, kSuccess);
  EXPECT_THAT(ranks[1]->Output(), HasSubstr("Too many open files"));
  EXPECT_THAT(ranks[0]->Output(),
              AllOf(HasSubstr("rank 1 (host "), HasSubstr("cannot take part in the communicator"),
                    HasSubstr("Too many open files")));
}

}  // namespace
}  // namespace muster::testing
