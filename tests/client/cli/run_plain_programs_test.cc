// Tests of `muster run` with programs that do not use Muster: restarts of all ranks, status, and an
// end that waits for no coordinator.

#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"
#include "tests/util/job/ranks.h"

namespace muster::cli {
namespace {

using muster::testing::CountOf;
using muster::testing::Exit;
using muster::testing::kSuccess;
using muster::testing::MakeTempDir;
using muster::testing::MusterdPath;
using muster::testing::MusterStatus;
using muster::testing::TestDaemon;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Value;

constexpr Exit kKilled = {false, 128 + SIGKILL};

// ---- Restarts ----

// Returns a script with the shell function `reached RANK`. It waits until a file exists for that
// rank's start with the same number as this rank's start.
std::string Script(const std::string& directory, const std::string& body) {
  return absl::StrCat("cd ", directory,
                      "; echo start $MUSTER_RESTART_COUNT; n=$MUSTER_RESTART_COUNT; "
                      "echo $$ >$RANK.$n.new; mv $RANK.$n.new $RANK.$n; "
                      "reached() { until [ -e $1.$n ]; do sleep 0.01; done; }; "
                      "reached 0; reached 1; ",
                      body);
}

// Rank 1 fails as soon as rank 0 has exited, like a peer in a collective.
constexpr char kPeerFails[] =
    "while kill -0 $(cat 0.$n) 2>/dev/null; do sleep 0.01; done; exit 1; ";

class PlainProgramTest : public ::testing::Test {
 protected:
  MusterCommand Run(std::vector<std::string> flags, const std::string& body) {
    flags.push_back("--nproc-per-node=2");
    flags.push_back("--job=j");
    return MusterCommand(RunShell(flags, Script(directory_, body)),
                         {{"MUSTER_MUSTERD", MusterdPath()}});
  }

  const std::string directory_ = MakeTempDir();
};

TEST_F(PlainProgramTest, AKilledRankCostsOneRestartOfAllRanks) {
  MusterCommand muster(
      Run({"--max-restarts=1"},
          absl::StrCat("[ $n = 0 ] || exit 0; [ $RANK = 1 ] || kill -9 $$; ", kPeerFails)));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string output = muster.process().Output();
  EXPECT_THAT(output, ContainsRegex("muster: rank 0 \\([^)]*\\) was killed by signal 9 "
                                    "\\(SIGKILL\\); all ranks of this node \\(2\\) were restarted "
                                    "\\(restart 1 of at most 1\\)\n"));
  EXPECT_THAT(output, HasSubstr("[0] start 1\n"));
  EXPECT_THAT(output, HasSubstr("[1] start 1\n"));
  EXPECT_THAT(output, ContainsRegex("job j succeeded although rank 0 [^\n]*\\(SIGKILL\\)\n$"));
}

TEST_F(PlainProgramTest, TheFirstRankToFailIsBlamedAfterTheLastRestart) {
  MusterCommand muster(
      Run({"--max-restarts=1"}, absl::StrCat("[ $RANK = 1 ] || kill -9 $$; ", kPeerFails)));
  EXPECT_EQ(muster.process().Wait(), kKilled);
  const std::string output = muster.process().Output();
  EXPECT_EQ(CountOf(output, "were restarted (restart"), 1);
  EXPECT_THAT(output, ContainsRegex("job j failed: rank 0 \\([^)]*\\) was killed "
                                    "by signal 9"));
}

TEST_F(PlainProgramTest, ARankThatSucceededIsRestartedToo) {
  MusterCommand muster(Run({"--max-restarts=1"},
                           "[ $n = 0 ] || exit 0; [ $RANK = 0 ] || exit 0; "
                           "while kill -0 $(cat 1.0) 2>/dev/null; do sleep 0.01; done; exit 7"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[1] start 1\n"));
}

TEST_F(PlainProgramTest, ARankThatDoesNotEndForARestartIsKilled) {
  MusterCommand muster(Run({"--restart=group", "--max-restarts=1", "--grace=0s"},
                           "[ $n = 0 ] || exit 0; trap '' TERM; : >trap.$RANK.0; "
                           "if [ $RANK = 0 ]; then reached trap.1; exit 7; fi; "
                           "while :; do sleep 0.01; done"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string output = muster.process().Output();
  EXPECT_THAT(output, HasSubstr("; all ranks of this node are restarted: ending rank 1: SIGTERM "
                                "now, SIGKILL in 0"));
  EXPECT_THAT(output, HasSubstr("rank 1 did not end within 0; sending SIGKILL"));
  EXPECT_THAT(output, HasSubstr("[1] start 1\n"));
}

TEST_F(PlainProgramTest, TheUserCanEndTheRunWhileRanksEndForARestart) {
  MusterCommand muster(Run({"--restart=group", "--max-restarts=1", "--grace=1h"},
                           "trap '' TERM INT; : >trap.$RANK.0; "
                           "if [ $RANK = 0 ]; then reached trap.1; kill -9 $$; fi; "
                           "while :; do sleep 0.01; done"));
  ASSERT_TRUE(
      muster.process().WaitForOutput("all ranks of this node are restarted: ending rank 1"));
  muster.process().Signal(SIGTERM);
  ASSERT_TRUE(muster.process().WaitForOutput("got SIGTERM; passing it on to rank 1"));
  muster.process().Signal(SIGINT);
  EXPECT_EQ(muster.process().Wait(), kKilled);
  EXPECT_THAT(muster.process().Output(), Not(HasSubstr("start 1")));
  EXPECT_THAT(muster.process().Output(), HasSubstr("job j failed: rank 0 "));
  EXPECT_TRUE(muster.WaitForNone());
}

TEST_F(PlainProgramTest, AnUnknownScopeIsRejected) {
  MusterCommand muster(Run({"--restart=node"}, ""));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 64}));
  EXPECT_THAT(muster.process().Output(),
              HasSubstr("--restart is 'node'; expected group, rank or auto"));
}

// ---- Status ----

TEST(PlainStatusTest, ProcessesThatDoNotUseMusterAreCounted) {
  const auto daemon = TestDaemon::Start({"--world-size=2"});
  ASSERT_NE(daemon, nullptr);
  MusterCommand muster(
      {"run", "--coordinator", daemon->address(), "--nproc-per-node=2", "--", "sleep", "1001"});
  constexpr char kSaid[] = "2 processes run; none uses Muster (none has called Join)";
  EXPECT_TRUE(WaitUntil([&] { return CountOf(MusterStatus(*daemon), kSaid) == 1; }))
      << MusterStatus(*daemon);
  // A rank counts as running before it executes the program, so its sleep may not show yet.
  std::string output;
  EXPECT_TRUE(WaitUntil([&] {
    MusterCommand debug(
        {"debug", "--coordinator", daemon->address(), "--output", MakeTempDir() + "/bundle"});
    EXPECT_EQ(debug.process().Wait(), kSuccess);
    output = debug.process().Output();
    return Value(output, ContainsRegex("2 processes run; none uses Muster \\(none has called "
                                       "Join\\); rank [01] \\([^)]*\\): it is in "
                                       "[a-z_]*sleep\\(\\)"));
  })) << output;
  EXPECT_THAT(output, Not(HasSubstr("has not called Join:")));
}

// ---- The end ----

// Accepts connections like a coordinator, but answers no call. At SIGTERM it waits until all of
// them are closed, and prints that. gRPC closes a connection a moment after its client has gone.
constexpr char kCoordinator[] = R"(#!/usr/bin/env python3
import os, signal, socket, sys, time

flags = dict(word[2:].split('=', 1) for word in sys.argv[1:])
server = socket.create_server(('127.0.0.1', 0))
connections = []

def is_open(connection):
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False

def stop(*_):
    while any(map(is_open, connections)):
        time.sleep(0.01)
    print('all connections are closed', flush=True)
    os._exit(0)

def write(path, text):
    with open(path + '.new', 'w') as file:
        file.write(text)
    os.rename(path + '.new', path)

signal.signal(signal.SIGTERM, stop)
write(flags['port-file'], '%d\n' % server.getsockname()[1])
while True:
    connection, _ = server.accept()
    connections.append(connection)
    try:
        connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))  # HTTP/2: SETTINGS, none
        connection.recv(1)
    except OSError:
        continue  # the launcher has closed it already
    write(os.environ['CONNECTED'], '')
)";

TEST(PlainEndTest, ConnectionsAreClosedBeforeTheCoordinatorIsStopped) {
  const std::string directory = MakeTempDir();
  const std::string musterd = directory + "/musterd";
  std::ofstream(musterd) << kCoordinator;
  ASSERT_EQ(chmod(musterd.c_str(), 0700), 0);
  const std::string connected = directory + "/connected";
  MusterCommand muster(
      RunShell({}, absl::StrCat("until [ -e ", connected, " ]; do sleep 0.01; done")),
      {{"MUSTER_MUSTERD", musterd}, {"CONNECTED", connected}});
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr("[musterd] all connections are closed\n"));
}

}  // namespace
}  // namespace muster::cli
