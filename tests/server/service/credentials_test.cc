// Which callers the daemon accepts, over real gRPC.
#include "grpcpp/security/credentials.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/create_channel.h"
#include "muster/v1/store.pb.h"
#include "spdlog/sinks/ostream_sink.h"
#include "tests/server/service/raw_call.h"
#include "tests/server/service/test_job.h"
#include "tests/util/network/certificates.h"
#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kToken[] = "the-token-of-this-job-4711";
constexpr char kOtherToken[] = "another-token-of-this-job-0815";
constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr char kServing[] = "\x08\x01";
// No message type can parse this.
constexpr char kGarbage[] = "\xff\xff\xff";
const std::string* const kListServices = new std::string("\x3a\x00", 2);

std::vector<Header> Bearer(const std::string& token) {
  return {{"authorization", absl::StrCat("Bearer ", token)}};
}

auto Refused(const std::string& text) {
  return StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(text));
}

// Returns the path of each method of the daemon's services.
std::vector<std::string> Methods() {
  std::vector<std::string> methods;
  for (const google::protobuf::ServiceDescriptor* service :
       {v1::GetStatusRequest::descriptor()->file()->FindServiceByName("CoordinatorService"),
        v1::CallRequest::descriptor()->file()->FindServiceByName("CallService"),
        v1::StoreRequest::descriptor()->file()->FindServiceByName("StoreService")}) {
    for (int i = 0; i < service->method_count(); ++i) {
      methods.push_back(absl::StrCat("/", service->full_name(), "/", service->method(i)->name()));
    }
  }
  return methods;
}

class CredentialsTest : public ::testing::Test {
 protected:
  CredentialsTest() {
    options_.logger = std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_));
  }

  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = absl::StrCat(directory_, "/", name);
    ReplaceFile(path, contents);
    return path;
  }

  void AskForToken(absl::Duration overlap = absl::Minutes(5)) {
    options_.credentials.token_file = token_file_ = Write("token", absl::StrCat(kToken, "\n"));
    options_.credentials.token_overlap = overlap;
  }

  void Serve() { server_ = StartServer(options_); }

  absl::Status Call(const std::string& method, const std::vector<Header>& headers) {
    return RawCall(Connect(server_->address()), method, kGarbage, headers).status();
  }
  // Calls a method that changes nothing, with a valid message.
  absl::Status CallGetStatus(const std::vector<Header>& headers) {
    return RawCall(Connect(server_->address()), "/muster.v1.CoordinatorService/GetStatus", "",
                   headers)
        .status();
  }

  const std::string directory_ = MakeTempDir();
  std::ostringstream log_;
  service::ServerOptions options_ = TestOptions();
  std::string token_file_;
  std::unique_ptr<service::Server> server_;
};

TEST_F(CredentialsTest, EveryMethodIsRefusedWithoutTheTokenBeforeItsRequestIsRead) {
  AskForToken();
  Serve();
  const std::vector<std::string> methods = Methods();
  ASSERT_THAT(methods, Not(IsEmpty()));
  for (const std::string& method : methods) {
    EXPECT_THAT(Call(method, {}), Refused("no token came")) << method;
    EXPECT_THAT(Call(method, Bearer(kOtherToken)), Refused("not, or no longer")) << method;
    EXPECT_THAT(Call(method, Bearer(kToken)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a valid")))
        << method;
  }
  v1::GetStatusResponse status;
  const auto answer = RawCall(Connect(server_->address()),
                              "/muster.v1.CoordinatorService/GetStatus", "", Bearer(kToken));
  ASSERT_THAT(answer, IsOk());
  ASSERT_TRUE(status.ParseFromString(*answer));
  EXPECT_EQ(status.unauthenticated_calls(), 2 * methods.size());
  EXPECT_EQ(status.members_size(), 0);
}

TEST_F(CredentialsTest, OnlyOneHeaderOfTheRightSchemeIsAToken) {
  AskForToken();
  Serve();
  const std::vector<std::vector<Header>> wrong = {
      Bearer(""),
      Bearer(absl::StrCat(kToken, "x")),
      Bearer(std::string(kToken).substr(1)),
      {{"authorization", kToken}},
      {{"authorization", absl::StrCat("Basic ", kToken)}},
      {{"token", kToken}},
      {{"authorization", absl::StrCat("Bearer ", kOtherToken)},
       {"authorization", absl::StrCat("Bearer ", kToken)}}};
  for (const std::vector<Header>& headers : wrong) {
    EXPECT_THAT(CallGetStatus(headers), Refused("token")) << headers[0].value;
  }
  EXPECT_THAT(CallGetStatus({{"authorization", absl::StrCat("bearer ", kToken)}}), IsOk());
}

TEST_F(CredentialsTest, ReflectionIsGuardedAndHealthIsNot) {
  AskForToken();
  Serve();
  const auto channel = Connect(server_->address());
  EXPECT_THAT(RawCall(channel, kReflection, *kListServices, {}), Refused("no token came"));
  EXPECT_THAT(RawCall(channel, kReflection, *kListServices, Bearer(kOtherToken)),
              Refused("no longer"));
  const auto services = RawCall(channel, kReflection, *kListServices, Bearer(kToken));
  ASSERT_THAT(services, IsOk());
  EXPECT_THAT(*services, HasSubstr("muster.v1.CoordinatorService"));
  const auto health = RawCall(channel, kHealth, "", {});
  ASSERT_THAT(health, IsOk());
  EXPECT_EQ(*health, kServing);
}

// If this test fails, a new service is served: test its credentials too.
TEST_F(CredentialsTest, NothingElseIsServed) {
  Serve();
  const auto answer = RawCall(Connect(server_->address()), kReflection, *kListServices, {});
  ASSERT_THAT(answer, IsOk());
  // The field is ServerReflectionResponse.list_services_response.service[].name.
  std::string rest = *answer;
  for (const char* known :
       {"muster.v1.CoordinatorService", "muster.v1.CallService", "muster.v1.StoreService",
        "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}) {
    const size_t at = rest.find(known);
    if (at != std::string::npos) rest.erase(at, std::string(known).size());
  }
  EXPECT_THAT(rest, AllOf(Not(HasSubstr("muster")), Not(HasSubstr("grpc"))));
}

TEST_F(CredentialsTest, RefusalsAreLoggedWithTheAddressAndWithoutTheToken) {
  AskForToken();
  Serve();
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(CallGetStatus(Bearer(kOtherToken)), Refused("no longer"));
  }
  server_->RefreshCredentials();
  EXPECT_THAT(log_.str(), AllOf(HasSubstr("refused 1 call from 127.0.0.1: the token"),
                                Not(HasSubstr(kOtherToken)), Not(HasSubstr(kToken))));
  EXPECT_EQ(log_.str().find("refused", log_.str().find("refused") + 1), std::string::npos);
}

TEST_F(CredentialsTest, ANewTokenIsAcceptedAtOnceAndTheOldOneDuringTheOverlap) {
  AskForToken();
  Serve();
  EXPECT_THAT(CallGetStatus(Bearer(kToken)), IsOk());
  Write("token", kOtherToken);
  EXPECT_THAT(CallGetStatus(Bearer(kOtherToken)), IsOk());
  EXPECT_THAT(CallGetStatus(Bearer(kToken)), IsOk());
  EXPECT_THAT(log_.str(), HasSubstr("holds a new token; the previous token stays valid for 5m"));
}

TEST_F(CredentialsTest, AfterTheOverlapTheOldTokenIsRefused) {
  AskForToken(/*overlap=*/absl::ZeroDuration());
  Serve();
  Write("token", kOtherToken);
  server_->RefreshCredentials();
  EXPECT_THAT(CallGetStatus(Bearer(kToken)), Refused("no longer"));
  EXPECT_THAT(CallGetStatus(Bearer(kOtherToken)), IsOk());
}

TEST_F(CredentialsTest, AFileThatCannotBeUsedLeavesTheTokenInForce) {
  AskForToken(/*overlap=*/absl::ZeroDuration());
  Serve();
  Write("token", "short");
  server_->RefreshCredentials();
  server_->RefreshCredentials();
  EXPECT_THAT(CallGetStatus(Bearer(kToken)), IsOk());
  EXPECT_THAT(CallGetStatus(Bearer("short")), Refused("no longer"));
  const std::string said = "could be guessed";
  EXPECT_THAT(log_.str(), HasSubstr(said));
  EXPECT_EQ(log_.str().find(said, log_.str().find(said) + 1), std::string::npos) << log_.str();
}

TEST_F(CredentialsTest, UnusableCredentialFilesAreRejectedAtStart) {
  const CertificateAuthority authority;
  const Certificate good = authority.Issue();
  const Certificate other = authority.Issue();
  const Certificate expired = authority.Issue("DNS:localhost", -absl::Minutes(1));
  const std::string cert = Write("cert", good.pem);
  const std::string key = Write("key", good.key);
  const auto start = [&](const std::string& token_file, const std::string& tls_cert,
                         const std::string& tls_key, const std::string& tls_client_ca) {
    options_.credentials = {token_file, absl::Minutes(1), tls_cert, tls_key, tls_client_ca};
    return service::Server::Start(options_).status();
  };
  const auto says = [](const std::string& what, const std::string& which) {
    return StatusIs(absl::StatusCode::kFailedPrecondition,
                    AllOf(HasSubstr(what), HasSubstr(which)));
  };
  EXPECT_THAT(start("/no/such/file", "", "", ""), says("No such file", "/no/such/file"));
  EXPECT_THAT(start(directory_, "", "", ""), says("Is a directory", directory_));
  EXPECT_THAT(start(Write("empty", " \n"), "", "", ""), says("is empty", "muster token"));
  EXPECT_THAT(start(Write("short", "abc"), "", "", ""), says("could be guessed", "muster token"));
  EXPECT_THAT(start(Write("two", "token-token-token-token\ntoken"), "", "", ""),
              says("white space", "two"));
  EXPECT_THAT(start("", cert, "", ""), says("needs its key", cert));
  EXPECT_THAT(start("", "", "", cert), says("--tls-client-ca needs --tls-cert", "certificate"));
  EXPECT_THAT(start("", cert, "/no/key", ""), says("cannot be read", "/no/key"));
  EXPECT_THAT(start("", key, key, ""), says("holds no certificate", key));
  EXPECT_THAT(start("", cert, cert, ""), says("holds no private key", cert));
  EXPECT_THAT(start("", cert, Write("other", other.key), ""), says("not the key of", "other"));
  EXPECT_THAT(start("", cert, key, key), says("certificate authority", "holds no certificate"));
  EXPECT_THAT(start("", Write("old", expired.pem), Write("old-key", expired.key), ""),
              says("has expired", "old"));
}

TEST_F(CredentialsTest, ATokenFileThatOthersCanReadIsWarnedOf) {
  AskForToken();
  ReplaceFile(token_file_, kToken, 0644);
  Serve();
  EXPECT_THAT(log_.str(), AllOf(HasSubstr("can read the token file"), HasSubstr("chmod o=")));
}

TEST_F(CredentialsTest, BeyondLoopbackATokenOrMutualTlsIsNeeded) {
  options_.listen_address = "0.0.0.0:0";
  EXPECT_THAT(service::Server::Start(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("0.0.0.0:0"), HasSubstr("--token-file"),
                             HasSubstr("--tls-client-ca"), HasSubstr("--insecure"))));
  const CertificateAuthority authority;
  const Certificate own = authority.Issue();
  options_.credentials.tls_cert = Write("cert", own.pem);
  options_.credentials.tls_key = Write("key", own.key);
  EXPECT_THAT(service::Server::Start(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--token-file")));
  options_.credentials.tls_client_ca = Write("ca", authority.pem());
  EXPECT_THAT(service::Server::Start(options_), IsOk());
  EXPECT_THAT(log_.str(), IsEmpty());
}

TEST_F(CredentialsTest, ATokenThatEavesdroppersCanReadIsWarnedOf) {
  const std::string warning = "sent without TLS: anybody who can read the network's packets";
  AskForToken();
  EXPECT_THAT(service::Server::Start(options_), IsOk());
  EXPECT_THAT(log_.str(), Not(HasSubstr(warning)));
  options_.listen_address = "0.0.0.0:0";
  EXPECT_THAT(service::Server::Start(options_), IsOk());
  EXPECT_THAT(log_.str(), HasSubstr(warning));
}

// ---- TLS ----

class TlsTest : public CredentialsTest {
 protected:
  TlsTest() {
    own_ = authority_.Issue();
    options_.credentials.tls_cert = Write("cert", own_.pem);
    options_.credentials.tls_key = Write("key", own_.key);
  }

  void AskForCertificate() { options_.credentials.tls_client_ca = Write("ca", authority_.pem()); }

  // Returns a channel of a caller that trusts `authority` and presents the certificate `own`.
  std::shared_ptr<grpc::Channel> Dial(const std::string& authority, const Certificate& own = {}) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.use_local_subchannel_pool", 1);
    return grpc::CreateCustomChannel(
        server_->address(), grpc::SslCredentials({authority, own.key, own.pem}), arguments);
  }
  absl::Status Check(const std::shared_ptr<grpc::Channel>& channel) {
    return RawCall(channel, "/muster.v1.CoordinatorService/GetStatus", "", {}).status();
  }

  const CertificateAuthority authority_;
  Certificate own_;
};

auto NoHandshake() { return StatusIs(absl::StatusCode::kUnavailable, _); }

TEST_F(TlsTest, ServesTlsOnly) {
  Serve();
  EXPECT_THAT(Check(Dial(authority_.pem())), IsOk());
  EXPECT_THAT(Check(Dial(CertificateAuthority().pem())), NoHandshake());
  EXPECT_THAT(Check(Connect(server_->address())), NoHandshake());
}

TEST_F(TlsTest, MutualTlsAsksEveryCallerForACertificateOfTheAuthority) {
  AskForCertificate();
  Serve();
  EXPECT_THAT(Check(Dial(authority_.pem(), authority_.Issue())), IsOk());
  EXPECT_THAT(Check(Dial(authority_.pem(), CertificateAuthority().Issue())), NoHandshake());
  EXPECT_THAT(Check(Dial(authority_.pem(), authority_.Issue("DNS:a", -absl::Minutes(1)))),
              NoHandshake());
  for (const std::string& method : Methods()) {
    EXPECT_THAT(RawCall(Dial(authority_.pem()), method, kGarbage, {}),
                Refused("showed no certificate"))
        << method;
  }
  EXPECT_THAT(RawCall(Dial(authority_.pem()), kReflection, *kListServices, {}),
              Refused("showed no certificate"));
  EXPECT_THAT(RawCall(Dial(authority_.pem()), kHealth, "", {}), IsOk());
}

TEST_F(TlsTest, ACertificateDoesNotReplaceTheToken) {
  AskForCertificate();
  AskForToken();
  Serve();
  const auto channel = Dial(authority_.pem(), authority_.Issue());
  EXPECT_THAT(Check(channel), Refused("no token came"));
  EXPECT_THAT(RawCall(channel, "/muster.v1.CoordinatorService/GetStatus", "", Bearer(kToken)),
              IsOk());
  EXPECT_THAT(RawCall(Dial(authority_.pem()), "/muster.v1.CoordinatorService/GetStatus", "",
                      Bearer(kToken)),
              Refused("showed no certificate"));
}

// New connections get the new certificate. gRPC reads the files every ten seconds.
TEST_F(TlsTest, ANewCertificateIsServedWithoutARestart) {
  Serve();
  const CertificateAuthority next;
  const Certificate renewed = next.Issue();
  EXPECT_THAT(Check(Dial(next.pem())), NoHandshake());
  Write("key", renewed.key);
  Write("cert", renewed.pem);
  EXPECT_TRUE(WaitUntil([&] { return Check(Dial(next.pem())).ok(); }));
  EXPECT_THAT(Check(Dial(authority_.pem())), NoHandshake());
}

}  // namespace
}  // namespace muster::testing
