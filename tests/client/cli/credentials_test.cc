// Tests of `muster` with the credentials of real coordinators.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/credentials/token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/job/ranks.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

std::string MusterPath() { return LaunchCommand({}, {})[0]; }

// Runs "muster arguments..." until it exits.
std::string Muster(Args arguments, int exit_status, const Variables& env = {}) {
  arguments.insert(arguments.begin(), MusterPath());
  const auto muster = Process::Start(arguments, env);
  EXPECT_EQ(muster->Wait(), (Exit{false, exit_status})) << muster->Output();
  return muster->Output();
}

// ---- muster token ----

TEST(TokenCommandTest, PrintsADifferentTokenEachTime) {
  const std::string first = Muster({"token"}, 0);
  EXPECT_THAT(first, MatchesRegex("[-_A-Za-z0-9]{43}\n"));
  EXPECT_NE(first, Muster({"token"}, 0));
}

// ---- A coordinator that `muster run` starts ----

class HostedCoordinatorTest : public ::testing::Test {
 protected:
  // Runs one rank, which prints its coordinator and its token and then waits.
  void Run(const Variables& env = {}) {
    const std::string script =
        "echo it serves $MUSTER_COORDINATOR with $MUSTER_TOKEN_FILE and ${MUSTER_TLS_CA-none} "
        "begun; "
        "while [ ! -e $0 ]; do sleep 0.1; done";
    run_ = Process::Start(LaunchCommand({"--no-prefix"}, {"sh", "-c", script, gate_.path()}), env);
    ASSERT_TRUE(run_->WaitForOutput(" begun\n"));
    coordinator_ = Between("it serves ", " with ");
    token_file_ = Between(" with ", " and ");
    token_ = std::string(absl::StripSuffix(ReadFile(token_file_), "\n"));
  }

  std::string Between(const std::string& before, const std::string& after) const {
    const std::string text = run_->Output();
    const size_t begin = text.find(before) + before.size();
    return text.substr(begin, text.find(after, begin) - begin);
  }

  Gate gate_;
  std::unique_ptr<Process> run_;
  std::string coordinator_;
  std::string token_file_;
  std::string token_;
};

TEST_F(HostedCoordinatorTest, AcceptsOnlyTheTokenOfItsRun) {
  Run();
  EXPECT_THAT(Muster({"status", "--coordinator", coordinator_}, 1),
              AllOf(HasSubstr("sent no token"), HasSubstr(coordinator_)));
  EXPECT_THAT(Muster({"status", "--coordinator", coordinator_, "--token-file", token_file_}, 0),
              HasSubstr("run-"));
  Muster({"status", "--coordinator", coordinator_}, 0, {{"MUSTER_TOKEN_FILE", token_file_}});
  gate_.Open();
  EXPECT_EQ(run_->Wait(), kSuccess) << run_->Output();
}

TEST_F(HostedCoordinatorTest, TheTokenFileIsPrivateAndDeletedAfterTheRun) {
  Run();
  struct stat file = {};
  ASSERT_EQ(stat(token_file_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
  struct stat directory = {};
  ASSERT_EQ(stat(fs::path(token_file_).parent_path().c_str(), &directory), 0);
  EXPECT_EQ(directory.st_mode & 07777, 0700u);
  EXPECT_TRUE(ParseToken(token_).ok());
  gate_.Open();
  EXPECT_EQ(run_->Wait(), kSuccess);
  EXPECT_FALSE(fs::exists(fs::path(token_file_).parent_path()));
}

TEST_F(HostedCoordinatorTest, AnInterruptedRunDeletesTheTokenFile) {
  Run();
  run_->Signal(SIGINT);
  run_->Wait();
  EXPECT_FALSE(fs::exists(fs::path(token_file_).parent_path()));
}

TEST_F(HostedCoordinatorTest, AKilledLaunchersTokenFileIsDeleted) {
  Run();
  run_->Signal(SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return !fs::exists(fs::path(token_file_).parent_path()); }));
}

TEST_F(HostedCoordinatorTest, TheTokenIsInNoCommandLineAndNoEnvironment) {
  Run();
  ASSERT_TRUE(ParseToken(token_).ok());
  int looked = 0;
  for (const auto& process : fs::directory_iterator("/proc")) {
    for (const char* name : {"cmdline", "environ"}) {
      const std::string text = ReadFile(process.path() / name);
      looked += absl::StrContains(text, token_file_);
      EXPECT_FALSE(absl::StrContains(text, token_)) << process.path() << " " << name;
    }
  }
  EXPECT_GE(looked, 2);  // musterd's command line, the rank's environment
  EXPECT_THAT(run_->Output(), Not(HasSubstr(token_)));
}

TEST_F(HostedCoordinatorTest, CredentialVariablesDoNotApplyToIt) {
  Run({{"MUSTER_TOKEN_FILE", "/no/such/token"},
       {"MUSTER_TLS_CA", "/no/such/ca"},
       {"MUSTER_TLS_CERT", "/no/such/cert"},
       {"MUSTER_TLS_KEY", "/no/such/key"}});
  EXPECT_NE(token_file_, "/no/such/token");
  EXPECT_THAT(run_->Output(), HasSubstr("and none begun"));
  gate_.Open();
  EXPECT_EQ(run_->Wait(), kSuccess) << run_->Output();
}

TEST_F(HostedCoordinatorTest, ItsRanksJoinWithoutConfiguration) {
  const auto run = Launch(2, {"barrier", "leave"});
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
}

// ---- A coordinator that is already running ----

class TokenDaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ReplaceFile(token_file_, NewToken());
    daemon_ = TestDaemon::Start({"--world-size=2", absl::StrCat("--token-file=", token_file_)});
    ASSERT_NE(daemon_, nullptr);
  }

  const std::string token_file_ = absl::StrCat(MakeTempDir(), "/token");
  std::unique_ptr<TestDaemon> daemon_;
};

TEST_F(TokenDaemonTest, RanksGetTheTokenOfTheFlag) {
  const auto run = LaunchAt(*daemon_, 2, {"barrier", "leave"}, {"--token-file", token_file_});
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
}

TEST_F(TokenDaemonTest, RanksGetTheTokenOfTheEnvironment) {
  const auto run = Launch(2, {"barrier", "leave"}, {"--coordinator", daemon_->address()},
                          {{"MUSTER_TOKEN_FILE", token_file_}});
  EXPECT_EQ(run->Wait(), kSuccess) << run->Output();
}

// Because the launcher reports the exit, the loss is known before the grace is over.
TEST_F(TokenDaemonTest, TheLauncherReportsWithTheTokenToo) {
  const auto run =
      LaunchAt(*daemon_, 2, {"barrier", "1:exit=9", "0:barrier"}, {"--token-file", token_file_});
  EXPECT_EQ(run->Wait(), (Exit{false, 9})) << run->Output();
  EXPECT_THAT(run->Output(), HasSubstr("exited with status 9"));
}

TEST_F(TokenDaemonTest, RanksWithoutTheTokenSayWhatTheyNeed) {
  const auto run = LaunchAt(*daemon_, 2, {"barrier"});
  EXPECT_EQ(run->Wait(), kRankError);
  EXPECT_THAT(run->Output(), AllOf(HasSubstr("sent no token"), HasSubstr("MUSTER_TOKEN_FILE")));
}

TEST_F(TokenDaemonTest, AWrongTokenIsReportedWithItsQuotedFile) {
  const std::string wrong = absl::StrCat(MakeTempDir(), "/wrong");
  ReplaceFile(wrong, NewToken());
  EXPECT_THAT(Muster({"status", daemon_->address(), "--token-file", wrong}, 1),
              HasSubstr(absl::StrCat("which sent the token in '", wrong, "': ")));
}

TEST_F(TokenDaemonTest, AnUnusableFileIsRejectedBeforeAnyRankStarts) {
  const auto run = LaunchAt(*daemon_, 2, {"barrier"}, {"--token-file=/no/such/file"});
  EXPECT_EQ(run->Wait(), (Exit{false, 64}));
  EXPECT_THAT(run->Output(), AllOf(HasSubstr("/no/such/file"), Not(HasSubstr("begins"))));
}

TEST(RunFlagsTest, AHostedCoordinatorRejectsCredentialFlags) {
  EXPECT_THAT(Muster({"run", "--token-file=x", "--", "true"}, 64),
              AllOf(HasSubstr("--token-file needs --coordinator"), HasSubstr("of its own")));
  EXPECT_THAT(Muster({"run", "--tls-ca=x", "--", "true"}, 64), HasSubstr("--tls-ca"));
}

// ---- muster health ----

TEST_F(TokenDaemonTest, HealthNeedsNoToken) {
  EXPECT_EQ(Muster({"health", "--coordinator", daemon_->address()}, 0), "");
  EXPECT_EQ(Muster({"health"}, 0, {{"MUSTER_COORDINATOR", daemon_->address()}}), "");
}

TEST_F(TokenDaemonTest, HealthPrintsTheReasonInOneLine) {
  daemon_->Kill();
  EXPECT_THAT(Muster({"health", "--coordinator", daemon_->address()}, 1),
              MatchesRegex("muster: the coordinator at [^\n]* does not serve: [^\n]+\n"));
  EXPECT_THAT(Muster({"health"}, 64), HasSubstr("--coordinator"));
  EXPECT_THAT(Muster({"health", "--coordinator=a:1", "--timeout=soon"}, 64),
              HasSubstr("--timeout is 'soon'"));
}

TEST_F(TokenDaemonTest, HealthBlamesUnusableFilesNotTheCoordinator) {
  const Args health = {"health", "--coordinator", daemon_->address()};
  EXPECT_EQ(Muster(health, 0, {{"MUSTER_TOKEN_FILE", "/no/such/token"}}), "") << "needs none";
  EXPECT_THAT(Muster(health, 64, {{"MUSTER_TLS_CA", "/no/such/ca"}}),
              AllOf(HasSubstr("'/no/such/ca' cannot be read"), Not(HasSubstr("does not serve"))));
}

TEST_F(TokenDaemonTest, ATimeoutIsExplained) {
  const Args health = {"health", "--coordinator", daemon_->address(), "--timeout=300ms"};
  daemon_->process().Stop();
  EXPECT_THAT(Muster(health, 1, {{"MUSTER_RUNTIME_DIR", "/no/such/folder"}}),
              HasSubstr("does not serve: no answer within 300ms; check that musterd is running"));
  EXPECT_THAT(Muster(health, 1),
              HasSubstr(absl::StrCat("its process ", daemon_->process().pid(),
                                     " (musterd) is stopped, as by Ctrl-Z; continue it with fg in "
                                     "its shell, or by: kill -CONT ",
                                     daemon_->process().pid(), "\n")))
      << "of this user's own, more is known";
  daemon_->process().Signal(SIGCONT);
}

TEST_F(TokenDaemonTest, TlsToADaemonWithoutTlsIsExplained) {
  const std::string ca = MakeTempDir() + "/ca";
  ReplaceFile(ca, CertificateAuthority().pem());
  EXPECT_THAT(
      Muster({"health", "--coordinator", daemon_->address(), "--tls-ca", ca}, 1),
      MatchesRegex("muster: [^\n]*andshake[^\n]*; check that musterd serves TLS there[^\n]*\n"))
      << "in one line: gRPC has nothing to add";
}

TEST(HealthTest, SpeaksTls) {
  const std::string directory = MakeTempDir();
  const auto path = [&](const std::string& name) { return absl::StrCat(directory, "/", name); };
  const CertificateAuthority authority;
  const Certificate own = authority.Issue();
  ReplaceFile(path("ca"), authority.pem());
  ReplaceFile(path("cert"), own.pem);
  ReplaceFile(path("key"), own.key);
  const auto daemon = TestDaemon::Start({absl::StrCat("--tls-cert=", path("cert")),
                                         absl::StrCat("--tls-key=", path("key")),
                                         absl::StrCat("--tls-client-ca=", path("ca"))});
  ASSERT_NE(daemon, nullptr);
  const Args health = {"health", "--coordinator", daemon->address(), "--tls-ca"};
  Args right = health;
  right.push_back(path("ca"));
  Muster(right, 0);
  ReplaceFile(path("other"), CertificateAuthority().pem());
  Args wrong = health;
  wrong.push_back(path("other"));
  EXPECT_THAT(Muster(wrong, 1), HasSubstr("does not serve"));
  EXPECT_THAT(Muster({"health", "--coordinator", daemon->address()}, 1),
              HasSubstr("does not serve"));
}

}  // namespace
}  // namespace muster::testing
