// Starting and stopping a server: addresses, options, health checks, reflection and shutdown.

#include "server/service/server.h"

#include <future>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/server/service/raw_call.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kServing[] = "\x08\x01";  // HealthCheckResponse{status: SERVING}

// Returns HealthCheckRequest{service: name}.
std::string HealthRequest(const std::string& name) {
  return absl::StrCat("\x0a", std::string(1, static_cast<char>(name.size())), name);
}

service::ServerOptions ListenOn(const std::string& address) {
  service::ServerOptions options = TestOptions();
  options.listen_address = address;
  return options;
}

TEST(ServerTest, PortZeroPicksAPortThatTheAddressNames) {
  const auto server = StartServer();
  EXPECT_GT(server->port(), 0);
  EXPECT_EQ(server->address(), absl::StrCat("127.0.0.1:", server->port()));
}

TEST(ServerTest, ServesIpv6) {
  const auto server = StartServer(ListenOn("[::1]:0"));
  EXPECT_THAT(server->address(),
              AllOf(StartsWith("[::1]:"), EndsWith(absl::StrCat(server->port()))));
  TestJob job(server->address(), 2);
}

TEST(ServerTest, APortInUseIsNamedWithWhatToDo) {
  const auto server = StartServer();
  EXPECT_THAT(service::Server::Start(ListenOn(server->address())),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(server->address()), HasSubstr("another process uses"),
                             HasSubstr("--listen"))));
}

TEST(ServerTest, RefusesAddressesThatOthersCanReachUnlessInsecure) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.1.2.3:0", "somewhere.example:0"}) {
    EXPECT_THAT(service::Server::Start(ListenOn(address)),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("--token-file"), HasSubstr("--insecure"))))
        << address;
  }
  service::ServerOptions options = ListenOn("0.0.0.0:0");
  options.insecure = true;
  EXPECT_THAT(service::Server::Start(options), IsOk());
}

TEST(ServerTest, ExplainsAddressesItCannotListenOn) {
  service::ServerOptions options = ListenOn("203.0.113.1:0");  // an address of no machine
  options.insecure = true;
  EXPECT_THAT(service::Server::Start(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no interface")));
  options.listen_address = "no-such-host.invalid:0";
  EXPECT_THAT(service::Server::Start(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("does not resolve")));
}

TEST(ServerTest, RefusesOptionsOutOfRange) {
  service::ServerOptions options = TestOptions();
  options.core.job_id = "";
  EXPECT_THAT(service::Server::Start(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--job is empty")));
  options = TestOptions();
  options.keepalive_time = absl::ZeroDuration();
  EXPECT_THAT(service::Server::Start(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("keepalive time is 0")));
}

TEST(ServerTest, AnswersHealthChecks) {
  const auto server = StartServer();
  for (const char* name :
       {"", "muster.v1.CoordinatorService", "muster.v1.CallService", "muster.v1.StoreService"}) {
    const auto answer =
        RawCall(server->address(), "/grpc.health.v1.Health/Check", HealthRequest(name));
    ASSERT_THAT(answer, IsOk());
    EXPECT_EQ(*answer, kServing) << "of '" << name << "'";
  }
  EXPECT_THAT(RawCall(server->address(), "/grpc.health.v1.Health/Check", HealthRequest("other")),
              StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

TEST(ServerTest, DescribesItselfByReflection) {
  const auto server = StartServer();
  const std::string list_services("\x3a\x00", 2);
  const auto answer =
      RawCall(server->address(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              list_services);
  ASSERT_THAT(answer, IsOk());
  EXPECT_THAT(*answer, HasSubstr("muster.v1.CoordinatorService"));
}

TEST(ServerTest, ShutdownEndsParkedCallsAndStreamsWithTheReason) {
  const auto server = StartServer();
  TestJob job(server->address(), 2);
  auto parked = std::async(std::launch::async, [&job] { return job[0].Barrier(); });
  AwaitStatus(job[0].stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  server->Shutdown("going down for maintenance", absl::Seconds(30));
  const auto why =
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("going down for maintenance"));
  EXPECT_THAT(parked.get(), why);
  EXPECT_THAT(job[0].NextEvent(), why);
  EXPECT_THAT(job[1].NextEvent(), why);
  server->Shutdown("again", absl::Seconds(30));
}

TEST(ServerTest, OutcomeIsAnnounced) {
  std::promise<void> known;
  std::once_flag once;
  service::ServerOptions options = TestOptions();
  options.on_outcome = [&] { std::call_once(once, [&known] { known.set_value(); }); };
  const auto server = StartServer(options);
  TestJob job(server->address(), 1);
  EXPECT_THAT(job[0].Leave(), IsOk());
  EXPECT_EQ(known.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_FALSE(server->Quiet());
  job[0].Disconnect();
  AwaitStatus(job[0].stub(), [&](const v1::GetStatusResponse&) { return server->Quiet(); });
}

}  // namespace
}  // namespace muster::testing
