// Tests of the credentials that the SDK presents to a real daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/credentials/token.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CredentialsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return absl::StrCat(directory_, "/", name); }
  std::string Write(const std::string& name, const std::string& contents) const {
    ReplaceFile(Path(name), contents);
    return Path(name);
  }

  void Start(std::vector<std::string> flags) {
    daemon_ = TestDaemon::Start(flags);
    ASSERT_NE(daemon_, nullptr);
    options_ = OptionsFor(daemon_->address());
    options_.world_size = 1;
  }
  absl::Status Join() { return Job::Join(options_).status(); }
  // Joins with a short time-out. A failed handshake may be transient, so Join() retries it until
  // then.
  absl::Status JoinSoon() {
    options_.timeout = absl::Seconds(2);
    return Join();
  }

  const std::string directory_ = MakeTempDir();
  const std::string token_ = NewToken();
  std::unique_ptr<TestDaemon> daemon_;
  JobOptions options_;
};

class TokenTest : public CredentialsTest {
 protected:
  void SetUp() override { Start({absl::StrCat("--token-file=", Write("token", token_))}); }
};

TEST_F(TokenTest, JoinsWithTheToken) {
  options_.token_file = Path("token");
  EXPECT_EQ(Join(), absl::OkStatus());
}

TEST_F(TokenTest, WithoutATokenTheErrorSaysWhatIsMissing) {
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(daemon_->address()), HasSubstr("sent no token"),
                                     HasSubstr("MUSTER_TOKEN_FILE")));
}

TEST_F(TokenTest, AWrongTokenIsNamedByItsFile) {
  const std::string wrong = NewToken();
  options_.token_file = Write("wrong", wrong);
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status), AllOf(HasSubstr(daemon_->address()), HasSubstr(Path("wrong")),
                                     HasSubstr("not, or no longer")));
  EXPECT_THAT(Message(status), Not(HasSubstr(wrong)));
}

TEST_F(TokenTest, AFileThatCannotBeUsedIsAnErrorBeforeAnythingIsSent) {
  options_.token_file = Path("no-such-file");
  EXPECT_EQ(Join().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(Join()), AllOf(HasSubstr(Path("no-such-file")), HasSubstr("No such file")));
  options_.token_file = Write("short", "abc");
  EXPECT_THAT(Message(Join()), HasSubstr("could be guessed"));
}

TEST_F(TokenTest, TheDaemonNeverPrintsTheToken) {
  options_.token_file = Path("token");
  EXPECT_EQ(Join(), absl::OkStatus());
  EXPECT_THAT(daemon_->process().Output(), Not(HasSubstr(token_)));
}

// ---- Rotation ----

// A job in which each member reads its own token file, as on different nodes, and the files change
// one after another.
class RotationTest : public CredentialsTest {
 protected:
  static constexpr int kMembers = 4;
  static constexpr int kRotations = 8;

  std::string FileOf(int member) const { return Path(absl::StrCat("token-", member)); }

  // Replaces the token in all files, beginning with another member each time. With an overlap, all
  // members complete some rounds after each file has changed. They do so in any case after the last
  // one, and then the daemon has read the change.
  void Rotate(int rotation, bool overlap, TestDaemon& daemon) {
    const std::string token = NewToken();
    for (int i = 0; i <= kMembers; ++i) {
      const int who = (i + rotation) % (kMembers + 1);
      ReplaceFile(who == kMembers ? Path("token") : FileOf(who), token);
      if (overlap || i == kMembers) AwaitRounds(2);
    }
    AwaitTrue([&] { return ChangesSeenBy(daemon) > rotation; });
  }

  void AwaitRounds(int more) {
    const int reached = rounds_;
    AwaitTrue([&] { return rounds_ >= reached + more; });
  }

  void AwaitTrue(const std::function<bool()>& condition) {
    if (!WaitUntil(condition)) failed_ = true;
    EXPECT_FALSE(failed_) << "a rotation did not get on";
  }

  static int ChangesSeenBy(TestDaemon& daemon) {
    const std::string log = daemon.process().Output();
    int seen = 0;
    for (size_t at = 0; (at = log.find("holds a new token", at)) != std::string::npos; ++at) {
      ++seen;
    }
    return seen;
  }

  // Returns true if the call did not fail.
  bool Count(const absl::Status& status) {
    ++calls_;
    EXPECT_EQ(status, absl::OkStatus());
    if (!status.ok()) failed_ = true;
    return status.ok();
  }

  // Works in rounds until all rotations are over, which rank 0 announces in each round.
  void Work(int rank, Job& job) {
    for (bool over = false; !over; rounds_ += rank == 0) {
      const bool done = rotated_ || failed_;
      if (!Count(job.Barrier("round"))) return;
      const absl::StatusOr<int> said = job.Broadcast<int>(done, /*root=*/0);
      if (!Count(said.status())) return;
      over = *said != 0;
    }
  }

  void Run(const std::string& overlap) {
    const std::string file = Write("token", token_);
    for (int i = 0; i < kMembers; ++i) ReplaceFile(FileOf(i), token_);
    Jobs jobs(kMembers,
              {absl::StrCat("--token-file=", file), absl::StrCat("--token-overlap=", overlap)},
              [&](int member, JobOptions* options) { options->token_file = FileOf(member); });
    std::thread rotating([&] {
      for (int i = 0; i < kRotations && !failed_; ++i) Rotate(i, overlap != "0s", jobs.daemon());
      rotated_ = true;
    });
    jobs.Run([this](int rank, Job& job) { Work(rank, job); });
    rotating.join();
    EXPECT_FALSE(failed_);
    std::cout << kRotations << " rotations, overlap " << overlap << ": " << calls_
              << " calls, none failed: " << !failed_ << "\n";
  }

  std::atomic<bool> rotated_{false};
  std::atomic<bool> failed_{false};
  std::atomic<int> rounds_{0};
  std::atomic<int> calls_{0};
};

TEST_F(RotationTest, NoCallFails) { Run("60s"); }

// Members whose files change last are rejected, and wait until their file has changed.
TEST_F(RotationTest, NoCallFailsWithoutAnOverlap) { Run("0s"); }

TEST_F(RotationTest, AMemberComesBackToADaemonThatWasRestartedWithAnotherToken) {
  const std::string file = Write("token", token_);
  ReplaceFile(FileOf(0), token_);
  Jobs jobs(1, {absl::StrCat("--token-file=", file)},
            [&](int, JobOptions* options) { options->token_file = FileOf(0); });
  jobs.KillDaemon();
  const std::string next = NewToken();
  ReplaceFile(file, next);
  jobs.StartDaemonAgain();
  absl::Status status = absl::UnknownError("");
  std::thread waiting([&] { status = jobs[0].Barrier("after the restart"); });
  EXPECT_TRUE(jobs.daemon().process().WaitForOutput("refused"));
  ReplaceFile(FileOf(0), next);
  waiting.join();
  EXPECT_EQ(status, absl::OkStatus());
}

// ---- TLS ----

class TlsTest : public CredentialsTest {
 protected:
  void Serve(bool mutual, const std::string& names = "DNS:localhost,IP:127.0.0.1") {
    const Certificate own = authority_.Issue(names);
    ca_ = Write("ca", authority_.pem());
    std::vector<std::string> flags = {absl::StrCat("--tls-cert=", Write("cert", own.pem)),
                                      absl::StrCat("--tls-key=", Write("key", own.key))};
    if (mutual) flags.push_back(absl::StrCat("--tls-client-ca=", ca_));
    Start(flags);
    options_.tls_ca = ca_;
  }

  void Show(const Certificate& own) {
    options_.tls_cert = Write("client-cert", own.pem);
    options_.tls_key = Write("client-key", own.key);
  }

  const CertificateAuthority authority_;
  std::string ca_;
};

TEST_F(TlsTest, JoinsOverTls) {
  Serve(/*mutual=*/false);
  EXPECT_EQ(Join(), absl::OkStatus());
}

TEST_F(TlsTest, ACoordinatorOfAnotherAuthorityIsNotTrusted) {
  Serve(/*mutual=*/false);
  options_.tls_ca = Write("other-ca", CertificateAuthority().pem());
  EXPECT_THAT(Message(JoinSoon()), AllOf(HasSubstr(daemon_->address()), HasSubstr("andshake")));
}

TEST_F(TlsTest, WithoutTlsACoordinatorWithItCannotBeReached) {
  Serve(/*mutual=*/false);
  options_.tls_ca = "";
  EXPECT_FALSE(JoinSoon().ok());
}

TEST_F(TlsTest, TheNameInTheCertificateMustBeTheCoordinators) {
  Serve(/*mutual=*/false, "DNS:head.cluster");
  EXPECT_THAT(Message(JoinSoon()), HasSubstr("127.0.0.1"));
  options_.timeout = absl::Seconds(60);
  options_.tls_server_name = "head.cluster";
  EXPECT_EQ(Join(), absl::OkStatus());
}

TEST_F(TlsTest, MutualTlsTakesACertificateOfTheAuthority) {
  Serve(/*mutual=*/true);
  Show(authority_.Issue());
  EXPECT_EQ(Join(), absl::OkStatus());
}

TEST_F(TlsTest, MutualTlsWithoutACertificateSaysWhatIsMissing) {
  Serve(/*mutual=*/true);
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(Message(status),
              AllOf(HasSubstr("showed no certificate"), HasSubstr("MUSTER_TLS_CERT")));
}

TEST_F(TlsTest, MutualTlsDoesNotTakeACertificateOfAnotherAuthority) {
  Serve(/*mutual=*/true);
  Show(CertificateAuthority().Issue());
  EXPECT_FALSE(JoinSoon().ok());
}

TEST_F(TlsTest, AnOwnCertificateThatHasExpiredIsAnErrorAtOnce) {
  Serve(/*mutual=*/true);
  Show(authority_.Issue("DNS:a", -absl::Minutes(1)));
  EXPECT_THAT(Message(Join()), AllOf(HasSubstr("client-cert"), HasSubstr("has expired")));
}

TEST_F(TlsTest, OptionsThatDoNotMakeSenseTogetherAreRefused) {
  JobOptions options;
  options.tls_cert = "cert";
  EXPECT_THAT(Message(options.Validate()), HasSubstr("belong together"));
  options.tls_key = "key";
  EXPECT_THAT(Message(options.Validate()), HasSubstr("MUSTER_TLS_CA"));
  options.tls_ca = "ca";
  EXPECT_EQ(options.Validate(), absl::OkStatus());
}

}  // namespace
}  // namespace muster::testing
