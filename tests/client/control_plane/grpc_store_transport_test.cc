// Tests of a client of the store over gRPC, with a service that answers by rote.
#include "client/src/control_plane/grpc/grpc_store_transport.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/src/base/backoff.h"
#include "client/src/control_plane/store_driver.h"
#include "common/credentials/caller_credentials.h"
#include "common/names/host_port.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/store.grpc.pb.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;

// A store that answers a get with its key. A get of "end" ends its first stream; a get of "wait" is
// not answered on the first stream.
class EchoStore final : public v1::StoreService::Service {
 public:
  grpc::Status Store(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::StoreResponse, v1::StoreRequest>* stream) override {
    const int number = Count(&streams_);
    uint64_t sent = 0;
    v1::StoreRequest request;
    while (stream->Read(&request)) {
      v1::StoreResponse response;
      if (request.has_confirm()) {
        EXPECT_LE(request.confirm().processed(), sent);
        Note(&confirmed_, static_cast<int>(request.confirm().processed()));
        continue;
      }
      if (request.claim().last()) {
        response.mutable_opened()->set_max_key_bytes(8 << 10);
        response.mutable_opened()->set_max_value_bytes(8 << 20);
      } else if (request.has_operation()) {
        const std::string& key = request.operation().get().key();
        if (key == "end" && number == 1) return {grpc::StatusCode::UNAVAILABLE, "draining"};
        Count(&operations_);
        if (key == "wait" && number == 1) continue;
        response.mutable_answer()->set_operation(request.operation().id());
        response.mutable_answer()->set_value(key + request.operation().set().value());
      } else {
        continue;
      }
      ++sent;
      stream->Write(response);
    }
    if (!context->IsCancelled()) Count(&left_);
    return grpc::Status::OK;
  }

  void Await(const int& count, int least) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return count >= least; });
  }
  const int& confirmed() const { return confirmed_; }
  const int& operations() const { return operations_; }
  const int& left() const { return left_; }

 private:
  int Count(int* number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    changed_.notify_all();
    return ++*number;
  }
  void Note(int* number, int value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *number = value;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int streams_ = 0;
  int operations_ = 0;
  int confirmed_ = 0;  // the last confirmation
  int left_ = 0;       // clients that have ended their side
};

std::unique_ptr<grpc::Server> Serve(grpc::Service* service, int* port) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::to_string(*port), grpc::InsecureServerCredentials(),
                           port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

std::shared_ptr<StoreDriver> Connect(int port) {
  StoreClientOptions options;
  options.coordinator = "127.0.0.1:" + std::to_string(port);
  options.job_id = "run";
  options.identity.incarnation = "self------------";
  options.coordinator_timeout = absl::Minutes(10);
  options.random = RandomFromDevice();
  return *StoreDriver::Start(options, MakeGrpcStoreTransport(*ParseHostPort(options.coordinator),
                                                             *CallerCredentials::Load({})));
}

absl::StatusOr<v1::StoreAnswer> Get(StoreDriver* driver, const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(key);
  CallOptions options;
  options.timeout = absl::Minutes(5);
  return driver->Call(operation, options);
}

TEST(GrpcStoreTransportTest, CarriesOperationsAndAnswers) {
  int port = 0;
  EchoStore store;
  const auto server = Serve(&store, &port);
  const auto driver = Connect(port);
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(Get(driver.get(), key)->value(), key);

  v1::StoreOperation set;
  set.mutable_set()->set_key("large");
  set.mutable_set()->set_value(std::string(5 << 20, 'v'));
  CallOptions options;
  options.timeout = absl::Minutes(5);
  EXPECT_EQ(driver->Call(set, options)->value().size(), 5 << 20);
  store.Await(store.confirmed(), 5);  // with the answer to the change, those to the reads before
}

TEST(GrpcStoreTransportTest, CarriesOperationsOfManyThreadsAtOnce) {
  int port = 0;
  EchoStore store;
  const auto server = Serve(&store, &port);
  const auto driver = Connect(port);
  constexpr int kThreads = 8;
  constexpr int kCalls = 200;
  std::vector<std::future<int>> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::async(std::launch::async, [&driver, i] {
      int right = 0;
      for (int call = 0; call < kCalls; ++call) {
        const std::string key = std::to_string(i) + "." + std::to_string(call);
        right += Get(driver.get(), key)->value() == key ? 1 : 0;
      }
      return right;
    }));
  }
  for (auto& right : threads) EXPECT_EQ(right.get(), kCalls);
  store.Await(store.confirmed(), kThreads * kCalls + 1);
}

TEST(GrpcStoreTransportTest, RepeatsOperationsWhenTheServiceEndsTheStream) {
  int port = 0;
  EchoStore store;
  const auto server = Serve(&store, &port);
  const auto driver = Connect(port);
  EXPECT_EQ(Get(driver.get(), "end")->value(), "end");
}

TEST(GrpcStoreTransportTest, ReconnectsToAServiceThatIsStartedAgain) {
  int port = 0;
  EchoStore store;
  auto server = Serve(&store, &port);
  const auto driver = Connect(port);
  auto waits = std::async(std::launch::async, [&] { return Get(driver.get(), "wait"); });
  store.Await(store.operations(), 1);
  server->Shutdown(std::chrono::system_clock::now());
  server.reset();
  server = Serve(&store, &port);
  EXPECT_EQ(waits.get()->value(), "wait");
}

TEST(GrpcStoreTransportTest, EndsItsSideOfTheStreamWhenItLeaves) {
  int port = 0;
  EchoStore store;
  const auto server = Serve(&store, &port);
  auto driver = Connect(port);
  EXPECT_EQ(Get(driver.get(), "a")->value(), "a");
  driver.reset();
  store.Await(store.left(), 1);
}

TEST(GrpcStoreTransportTest, SaysThatTheCoordinatorHasNoStore) {
  int port = 0;
  v1::CoordinatorService::Service other;
  const auto server = Serve(&other, &port);
  const auto driver = Connect(port);
  const absl::Status status = Get(driver.get(), "a").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("this musterd has no store"));
}

}  // namespace
}  // namespace muster::internal
