// Streams of the store over real gRPC. tests/server/core/store has the rules of the store.
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/service/store_stream.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The end of a stream that the daemon has ended with OK.
auto EndedWell() { return StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("ended with OK")); }

auto Set(const std::string& key, const std::string& value) {
  return [=](v1::StoreOperation* operation) {
    operation->mutable_set()->set_key(key);
    operation->mutable_set()->set_value(value);
  };
}

auto Get(const std::string& key) {
  return [=](v1::StoreOperation* operation) { operation->mutable_get()->set_key(key); };
}

auto Push(const std::string& key, const std::string& element) {
  return [=](v1::StoreOperation* operation) {
    operation->mutable_push()->set_key(key);
    operation->mutable_push()->set_value(element);
  };
}

class StoreServiceTest : public ::testing::Test {
 protected:
  std::unique_ptr<service::Server> server_ = StartServer();
};

TEST_F(StoreServiceTest, AValueOfOneClientReachesAnother) {
  TestStoreClient a(server_->address());
  TestStoreClient b(server_->address());
  ASSERT_THAT(a.Open(), IsOk());
  const std::string large(1 << 20, 'v');
  ASSERT_THAT(a.Call(Set("k", large)), IsOk());
  ASSERT_THAT(b.Open(), IsOk());
  const uint64_t get = b.Send(Get("k"));
  const absl::StatusOr<v1::StoreResponse> news = a.Read();  // of b, which is served afterwards
  ASSERT_THAT(news, IsOk());
  ASSERT_TRUE(news->has_clients());
  a.Confirm();
  const absl::StatusOr<v1::StoreAnswer> answer = b.Answer(get);
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->value(), large);
}

TEST_F(StoreServiceTest, AQueueIsHeldWithItsElementsInOrder) {
  TestStoreClient a(server_->address());
  TestStoreClient b(server_->address());
  ASSERT_THAT(a.Open(), IsOk());
  const std::string large(100'000, 'e');
  ASSERT_THAT(a.Call(Push("q", large)), IsOk());
  ASSERT_THAT(a.Call(Push("q", "")), IsOk());
  ASSERT_THAT(a.Call(Push("q", "last")), IsOk());
  ASSERT_THAT(b.Open(), IsOk());
  for (TestStoreClient* client : {&a, &b}) {
    const absl::StatusOr<v1::StoreResponse> news = client->Read();  // of the other client
    ASSERT_THAT(news, IsOk());
    ASSERT_TRUE(news->has_clients());
    client->Confirm();
  }
  const absl::StatusOr<v1::StoreResponse> copy = b.Read();
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(copy->hold().key(), "q");
  EXPECT_THAT(copy->hold().entry().queue().elements(), ElementsAre(large, "", "last"));
}

TEST_F(StoreServiceTest, OpenedTellsTheLimits) {
  TestStoreClient client(server_->address());
  client.Begin();
  const v1::StoreOpen open = client.OpenMessage();
  v1::StoreRequest request;
  *request.mutable_open() = open;
  client.Send(request);
  request.mutable_claim()->add_joined(open.incarnation());
  request.mutable_claim()->set_last(true);
  client.Send(request);
  const absl::StatusOr<v1::StoreResponse> opened = client.Read();
  ASSERT_THAT(opened, IsOk());
  EXPECT_EQ(opened->opened().max_key_bytes(), 8 << 10);
  EXPECT_EQ(opened->opened().max_value_bytes(), 8 << 20);
  EXPECT_NE(opened->opened().daemon_instance(), 0u);
}

TEST_F(StoreServiceTest, AnErrorOfAnOperationLeavesTheStreamOpen) {
  TestStoreClient client(server_->address());
  ASSERT_THAT(client.Open(), IsOk());
  const auto refused = client.Call(Set("k", std::string((8 << 20) + 1, 'v')));
  ASSERT_THAT(refused, IsOk());
  EXPECT_EQ(refused->error().code(), static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(refused->error().message(), HasSubstr("--max-store-value-bytes"));
  EXPECT_THAT(client.Call(Set("k", "v")), IsOk());
}

// gRPC refuses to read it. The client has not left.
TEST(StoreServiceLargeTest, AMessageBeyondTheLimitOfRequestsEndsTheStreamAndNotTheClient) {
  service::ServerOptions options = TestOptions();
  options.core.member_grace = absl::Minutes(5);
  options.core.world_size = 1;
  options.core.limits.max_payload_bytes = 1 << 20;
  options.core.limits.max_members = 16;
  options.core.store.max_value_bytes = 1 << 20;
  const auto server = StartServer(options);
  TestStoreClient client(server->address());
  v1::StoreOpen open = client.OpenMessage();
  open.set_rank(0);
  ASSERT_THAT(client.Open(open), IsOk());
  ASSERT_THAT(client.Call(Set("k", "v")), IsOk());
  client.Send(Set("large", std::string(32 << 20, 'v')));
  EXPECT_THAT(client.Read(), Not(EndedWell()));
  client.set_was_served();
  EXPECT_THAT(client.Open(), IsOk());
}

TEST_F(StoreServiceTest, AMalformedMessageEndsTheStreamAndNamesTheField) {
  const auto expect = [&](const std::function<void(v1::StoreRequest*)>& fill,
                          const std::string& text) {
    TestStoreClient client(server_->address());
    ASSERT_THAT(client.Open(), IsOk());
    v1::StoreRequest request;
    fill(&request);
    client.Send(request);
    absl::Status end;
    while (end.ok()) end = client.Read().status();  // the news of other clients come first
    EXPECT_THAT(end, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  expect([](auto*) {}, "StoreRequest.message is missing");
  expect([](auto* r) { r->mutable_operation()->set_id(1); }, "StoreOperation.operation is missing");
  expect([](auto* r) { r->mutable_operation()->mutable_get()->set_key("k"); }, "ids must ascend");
  expect(
      [](auto* r) {
        r->mutable_operation()->mutable_get();
        r->mutable_operation()->mutable_wait_timeout()->set_seconds(-1);
      },
      "StoreOperation.wait_timeout");
  expect(
      [](auto* r) {
        for (int i = 0; i < 65537; ++i) r->mutable_operation()->mutable_wait()->add_keys("k");
      },
      "has 65537 keys");
  expect([](auto* r) { r->mutable_claim()->add_joined("short"); }, "an incarnation of 5 bytes");
  expect([](auto* r) { r->mutable_entries()->add_entries()->set_revision(1); },
         "entry.kind is missing");
  expect([](auto* r) { r->mutable_confirm()->set_processed(100); }, "confirms 100 messages");
  expect(
      [](auto* r) {
        v1::StoreEntry* entry = r->mutable_entries()->add_entries()->mutable_entry();
        entry->mutable_arrivals()->set_arrived(7);
        r->mutable_entries()->mutable_entries(0)->set_revision(1);
      },
      "which is no round");
}

TEST_F(StoreServiceTest, AnOpenThatIsNotValidIsRefused) {
  TestStoreClient client(server_->address());
  v1::StoreOpen open = client.OpenMessage();
  open.set_job_id("other");
  EXPECT_THAT(client.Open(open), StatusIs(absl::StatusCode::kNotFound, HasSubstr("other")));
  open = client.OpenMessage();
  open.set_secret("another secret!!");
  EXPECT_THAT(client.Open(open),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("StoreOpen.secret")));
  open = client.OpenMessage();
  open.set_secret("short");
  EXPECT_THAT(client.Open(open),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has 5 bytes")));
  open = client.OpenMessage();
  open.add_unanswered(7);
  EXPECT_THAT(client.Open(open),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("StoreOpen.unanswered")));
}

TEST_F(StoreServiceTest, AClientThatEndsItsSideHasLeft) {
  TestStoreClient a(server_->address());
  TestStoreClient b(server_->address());
  ASSERT_THAT(a.Open(), IsOk());
  ASSERT_THAT(b.Open(), IsOk());
  ASSERT_TRUE(a.Read()->has_clients());  // b has joined
  a.Confirm();
  EXPECT_THAT(b.Leave(), EndedWell());
  const absl::StatusOr<v1::StoreResponse> news = a.Read();
  ASSERT_THAT(news, IsOk());
  EXPECT_EQ(news->clients().lost_size(), 1);
  EXPECT_THAT(b.Open(), StatusIs(absl::StatusCode::kAborted, HasSubstr("counts as lost")));
}

TEST_F(StoreServiceTest, AStreamThatWasNeverOpenedCanBeLeft) {
  TestStoreClient client(server_->address());
  client.Begin();
  EXPECT_THAT(client.Leave(), EndedWell());
}

TEST(StoreServiceGraceTest, AClientThatDisconnectsMayComeBack) {
  service::ServerOptions options = TestOptions();
  options.core.member_grace = absl::Minutes(5);
  options.core.world_size = 1;
  const auto server = StartServer(options);
  TestStoreClient client(server->address());
  v1::StoreOpen open = client.OpenMessage();
  open.set_rank(0);  // all ranks of the job: the daemon waits for no others
  ASSERT_THAT(client.Open(open), IsOk());
  ASSERT_THAT(client.Call(Set("k", "v")), IsOk());
  client.Disconnect();
  client.set_was_served();
  ASSERT_THAT(client.Open(), IsOk());
  const auto answer = client.Call(Get("k"));
  ASSERT_THAT(answer, IsOk());
  EXPECT_EQ(answer->value(), "v");
}

TEST_F(StoreServiceTest, ANewerStreamEndsTheOlderOne) {
  TestStoreClient client(server_->address());
  ASSERT_THAT(client.Open(), IsOk());
  const auto stub = v1::StoreService::NewStub(Connect(server_->address()));
  grpc::ClientContext context;
  const auto second = stub->Store(&context);
  v1::StoreRequest request;
  *request.mutable_open() = client.OpenMessage();
  second->Write(request);
  request.mutable_claim()->set_last(true);
  second->Write(request);
  EXPECT_THAT(client.Read(),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("opened another stream")));
  context.TryCancel();
  second->Finish().ok();
}

TEST_F(StoreServiceTest, AShutdownEndsAllStreams) {
  TestStoreClient opened(server_->address());
  TestStoreClient silent(server_->address());
  ASSERT_THAT(opened.Open(), IsOk());
  silent.Begin();
  v1::StoreRequest request;
  *request.mutable_open() = silent.OpenMessage();
  silent.Send(request);
  auto shutdown =
      std::async(std::launch::async, [&] { server_->Shutdown("going down", absl::Seconds(30)); });
  EXPECT_THAT(opened.Read(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("going down")));
  EXPECT_THAT(silent.Read(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("going down")));
  shutdown.wait();
}

// The requests of this client make answers that it does not read.
TEST_F(StoreServiceTest, AClientThatDoesNotReadDoesNotMakeTheDaemonHoldItsAnswers) {
  TestStoreClient client(server_->address());
  ASSERT_THAT(client.Open(), IsOk());
  ASSERT_THAT(client.Call(Set("k", std::string(4 << 20, 'v'))), IsOk());
  constexpr int kGets = 40;
  std::vector<uint64_t> gets;
  for (int i = 0; i < kGets; ++i) gets.push_back(client.Send(Get("k")));
  for (const uint64_t get : gets) ASSERT_THAT(client.Answer(get), IsOk());
}

TEST_F(StoreServiceTest, TheStatusListsTheLongestWaits) {
  TestStoreClient client(server_->address());
  ASSERT_THAT(client.Open(), IsOk());
  for (int i = 0; i < 103; ++i) client.Send(Get(absl::StrCat("absent ", i)));
  ASSERT_THAT(client.Call(Set("k", "v")), IsOk());
  TestMember stranger(server_->address());
  const absl::StatusOr<v1::GetStatusResponse> status = GetStatus(stranger.stub());
  ASSERT_THAT(status, IsOk());
  ASSERT_EQ(status->store_waits_size(), 100);
  EXPECT_EQ(status->unlisted_store_waits(), 3u);
  EXPECT_EQ(status->store_waits(0).what(), "key 'absent 0' has not been set");
  EXPECT_EQ(status->store_waits(0).ranks_size() + status->store_waits(0).others(), 1u);
}

TEST_F(StoreServiceTest, MetricsCountClientsAndKeys) {
  TestStoreClient client(server_->address());
  ASSERT_THAT(client.Open(), IsOk());
  ASSERT_THAT(client.Call(Set("k", "v")), IsOk());
  client.Send(Get("absent"));
  ASSERT_THAT(client.Call(Set("k", "w")), IsOk());
  const core::Metrics metrics = server_->Measure().job;
  EXPECT_EQ(metrics.store_clients, 1u);
  EXPECT_EQ(metrics.store_keys, 1u);
  EXPECT_EQ(metrics.store_waits, 1u);
}

}  // namespace
}  // namespace muster::testing
