// Tests of a member's calls over gRPC: which are rpcs, and which the stream of calls carries. The
// services answer by rote.
#include "client/src/control_plane/grpc/grpc_transport.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "client/src/control_plane/grpc/grpc_call_stream.h"
#include "client/src/control_plane/grpc/grpc_events.h"
#include "client/src/control_plane/grpc/grpc_link.h"
#include "client/src/protocol/messages/member_requests.h"
#include "common/credentials/caller_credentials.h"
#include "common/names/host_port.h"
#include "muster/v1/calls.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRpcsBeforeStream = 16;

// A value that other threads change and await.
template <typename T>
class Awaited {
 public:
  template <typename Change>
  void Update(Change change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change(&value_);
    changed_.notify_all();
  }
  void Await(const std::function<bool(const T&)>& condition) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return condition(value_); });
  }
  T Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  T value_ = {};
};

// The calls that the services have seen. A call's name is its label.
struct Seen {
  int streams = 0;
  int ended = 0;  // streams that the transport has ended
  std::vector<std::string> rpcs;
  std::vector<std::string> carried;  // by streams
};

// Answers an Attach, and a broadcast with its payload.
class RoteCoordinator final : public v1::CoordinatorService::Service {
 public:
  RoteCoordinator(Awaited<Seen>* seen, bool call_streams)
      : seen_(*seen), call_streams_(call_streams) {}

  grpc::Status Attach(grpc::ServerContext* /*context*/, const v1::AttachRequest* /*request*/,
                      grpc::ServerWriter<v1::AttachResponse>* stream) override {
    v1::AttachResponse response;
    response.mutable_attached()->set_call_streams(call_streams_);
    stream->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status Broadcast(grpc::ServerContext* /*context*/, const v1::BroadcastRequest* request,
                         v1::BroadcastResponse* response) override {
    seen_.Update([&](Seen* seen) { seen->rpcs.push_back(request->context().label()); });
    response->set_payload(request->payload());
    return grpc::Status::OK;
  }

 private:
  Awaited<Seen>& seen_;
  const bool call_streams_;
};

// Carries broadcasts, which it answers with their payload. The name of a call may ask for more:
//   fail     the call fails
//   wait     the call is answered when Answer() is called
//   end      the stream ends
class RoteCalls final : public v1::CallService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::CallResponse, v1::CallRequest>;

  explicit RoteCalls(Awaited<Seen>* seen) : seen_(*seen) {}

  grpc::Status Call(grpc::ServerContext* /*context*/, Stream* stream) override {
    seen_.Update([](Seen* seen) { ++seen->streams; });
    v1::CallRequest request;
    while (stream->Read(&request)) {
      const std::string& name = request.broadcast().context().label();
      seen_.Update([&](Seen* seen) { seen->carried.push_back(name); });
      if (name == "end") return {grpc::StatusCode::UNAVAILABLE, "draining"};
      if (name == "wait") answers_.Await([](bool answers) { return answers; });
      v1::CallResponse response;
      if (name == "fail") {
        response.set_code(10);
        response.set_message("a rank is missing");
      } else {
        response.mutable_broadcast()->set_payload(request.broadcast().payload());
      }
      stream->Write(response);
    }
    seen_.Update([](Seen* seen) { ++seen->ended; });
    return grpc::Status::OK;
  }

  void Answer() {
    answers_.Update([](bool* answers) { *answers = true; });
  }

 private:
  Awaited<Seen>& seen_;
  Awaited<bool> answers_;
};

// A coordinator, and a transport that is connected to it.
class ConnectedTransport {
 public:
  explicit ConnectedTransport(bool call_streams = true)
      : coordinator_(&seen_, call_streams), calls_(&seen_) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterService(&coordinator_);
    builder.RegisterService(&calls_);
    server_ = builder.BuildAndStart();
    transport_ = MakeGrpcTransport(*ParseHostPort("127.0.0.1:" + std::to_string(port)),
                                   *CallerCredentials::Load({}));
    polling_ = std::thread([this] {
      while (!ending_) transport_->Poll();
    });
    Attach();
  }

  ~ConnectedTransport() {
    Disconnect();
    calls_.Answer();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  // Attaches, and returns when the coordinator has answered.
  void Attach() {
    const auto attached = std::make_shared<std::promise<void>>();
    transport_->Attach(++attempts_, {},
                       {[attached](const v1::AttachResponse&) { attached->set_value(); },
                        [](const absl::Status&) {}});
    attached->get_future().get();
  }

  // Begins a broadcast. Returns its attempt.
  uint64_t Begin(const std::string& name, const std::string& payload, Transport::Done done) {
    v1::BroadcastRequest request;
    request.mutable_context()->set_label(name);
    request.set_payload(payload);
    const uint64_t attempt = ++attempts_;
    transport_->Call(attempt, std::move(request), std::move(done));
    return attempt;
  }
  // The same, and returns what comes back.
  std::future<absl::StatusOr<std::string>> Begin(const std::string& name,
                                                 const std::string& payload = "data") {
    auto ended = std::make_shared<std::promise<absl::StatusOr<std::string>>>();
    last_ = Begin(name, payload, [ended](const absl::Status& status, const Response& response) {
      if (!status.ok()) return ended->set_value(status);
      ended->set_value(std::get<v1::BroadcastResponse>(response).payload());
    });
    return ended->get_future();
  }
  absl::StatusOr<std::string> Call(const std::string& name, const std::string& payload = "data") {
    return Begin(name, payload).get();
  }
  // Makes as many calls as are rpcs before the first one that the stream carries.
  void CallUntilStream() {
    for (int i = 0; i < kRpcsBeforeStream; ++i) EXPECT_TRUE(Call("first").ok());
  }
  // Cancels the last call that returned a future.
  void CancelLast() { transport_->Cancel(last_); }

  // Ends the transport, and all that is in flight.
  void Disconnect() {
    if (transport_ == nullptr) return;
    ending_ = true;
    transport_->Wake();
    polling_.join();
    transport_.reset();
  }

  Awaited<Seen>& seen() { return seen_; }
  RoteCalls& calls() { return calls_; }

 private:
  Awaited<Seen> seen_;
  RoteCoordinator coordinator_;
  RoteCalls calls_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Transport> transport_;
  std::thread polling_;
  std::atomic<bool> ending_ = false;
  std::atomic<uint64_t> attempts_ = 0;
  uint64_t last_ = 0;
};

TEST(GrpcTransportTest, TheFirstCallsAreRpcsAndTheStreamCarriesTheRest) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  EXPECT_EQ(connection.seen().Get().streams, 0);
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(*connection.Call(name, name), name);
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.streams, 1);
  EXPECT_EQ(seen.rpcs, std::vector<std::string>(kRpcsBeforeStream, "first"));
  EXPECT_EQ(seen.carried, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(GrpcTransportTest, ACoordinatorWithoutStreamsOfCallsGetsRpcs) {
  ConnectedTransport connection(/*call_streams=*/false);
  for (int i = 0; i < 3 * kRpcsBeforeStream; ++i) EXPECT_TRUE(connection.Call("a").ok());
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.streams, 0);
  EXPECT_EQ(seen.rpcs.size(), 3 * kRpcsBeforeStream);
}

TEST(GrpcTransportTest, ACallThatFailsHasItsCodeAndText) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  EXPECT_EQ(connection.Call("fail").status(), absl::AbortedError("a rank is missing"));
  EXPECT_EQ(*connection.Call("next"), "data");
}

TEST(GrpcTransportTest, CallsBesideTheOneInTheStreamAreRpcs) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  auto waits = connection.Begin("wait");
  EXPECT_EQ(*connection.Call("beside"), "data");
  connection.calls().Answer();
  EXPECT_EQ(*waits.get(), "data");
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.rpcs.back(), "beside");
  EXPECT_EQ(seen.carried, (std::vector<std::string>{"wait"}));
}

TEST(GrpcTransportTest, ACancelledCallEndsItsStreamAndTheNextCallOpensAnother) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  auto cancelled = connection.Begin("wait");
  connection.seen().Await([](const Seen& seen) { return !seen.carried.empty(); });
  connection.CancelLast();
  EXPECT_EQ(cancelled.get().status().code(), absl::StatusCode::kCancelled);
  connection.CancelLast();  // it has ended
  EXPECT_EQ(*connection.Call("next"), "data");
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.streams, 2);
  EXPECT_EQ(seen.carried, (std::vector<std::string>{"wait", "next"}));
}

TEST(GrpcTransportTest, ACallMayBeCancelledBeforeItsStreamHasBegun) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  for (int i = 0; i < 20; ++i) {
    auto cancelled = connection.Begin("wait");
    connection.CancelLast();
    EXPECT_EQ(cancelled.get().status().code(), absl::StatusCode::kCancelled);
  }
}

TEST(GrpcTransportTest, TheCallOfAStreamThatEndsIsUnavailableAndLaterCallsAreRpcs) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  const absl::Status status = connection.Call("end").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("draining"));
  EXPECT_EQ(*connection.Call("later"), "data");
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.rpcs.back(), "later");
  EXPECT_EQ(seen.streams, 1);
}

TEST(GrpcTransportTest, ANewAttachGetsANewStream) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  EXPECT_FALSE(connection.Call("end").ok());
  connection.Attach();
  EXPECT_EQ(*connection.Call("later"), "data");
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.carried, (std::vector<std::string>{"end", "later"}));
  EXPECT_EQ(seen.streams, 2);
}

TEST(GrpcTransportTest, ANewAttachEndsTheOlderStream) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  EXPECT_EQ(*connection.Call("a"), "data");
  connection.Attach();
  EXPECT_EQ(*connection.Call("b"), "data");
  connection.seen().Await([](const Seen& seen) { return seen.ended == 1; });
  EXPECT_EQ(connection.seen().Get().streams, 2);
}

TEST(GrpcTransportTest, ANewAttachLetsTheCallInTheOlderStreamEnd) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  auto waits = connection.Begin("wait");
  connection.seen().Await([](const Seen& seen) { return !seen.carried.empty(); });
  connection.Attach();
  connection.calls().Answer();
  EXPECT_EQ(*waits.get(), "data");
  connection.seen().Await([](const Seen& seen) { return seen.ended == 1; });
}

TEST(GrpcTransportTest, TheEndOfTheTransportEndsTheCallsOfTheStream) {
  ConnectedTransport connection;
  connection.CallUntilStream();
  auto waits = connection.Begin("wait");
  connection.seen().Await([](const Seen& seen) { return !seen.carried.empty(); });
  connection.Disconnect();
  EXPECT_EQ(waits.get().status().code(), absl::StatusCode::kCancelled);
}

TEST(GrpcTransportTest, AStreamThatHasJustBegunMayEndWithTheTransport) {
  for (int i = 0; i < 20; ++i) {
    ConnectedTransport connection;
    connection.CallUntilStream();
    auto waits = connection.Begin("wait");
    connection.Disconnect();
    EXPECT_EQ(waits.get().status().code(), absl::StatusCode::kCancelled);
  }
}

TEST(GrpcTransportTest, CarriesCallsOfManyThreadsAtOnce) {
  ConnectedTransport connection;
  constexpr int kThreads = 8;
  constexpr int kCalls = 200;
  std::vector<std::future<std::vector<std::string>>> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.push_back(std::async(std::launch::async, [&connection, i] {
      std::vector<std::string> wrong;
      for (int call = 0; call < kCalls; ++call) {
        const std::string payload = std::to_string(i) + "." + std::to_string(call);
        std::promise<std::string> answer;
        connection.Begin("a", payload, [&](const absl::Status& status, const Response& response) {
          answer.set_value(status.ok() ? std::get<v1::BroadcastResponse>(response).payload()
                                       : status.ToString());
        });
        if (std::string got = answer.get_future().get(); got != payload) wrong.push_back(got);
      }
      return wrong;
    }));
  }
  for (auto& wrong : threads) EXPECT_THAT(wrong.get(), IsEmpty());
  const Seen seen = connection.seen().Get();
  EXPECT_EQ(seen.rpcs.size() + seen.carried.size(), kThreads * kCalls);
  EXPECT_FALSE(seen.carried.empty());
}

TEST(GrpcCallStreamTest, ARetiredStreamSendsTheCallThatWaitsForItsStart) {
  Awaited<Seen> seen;
  RoteCalls calls(&seen);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&calls);
  const auto server = builder.BuildAndStart();
  grpc::CompletionQueue events;
  const GrpcCaller caller{*CallerCredentials::Load({}), "", &events};
  GrpcCallStream stream(
      caller, std::make_shared<Link>(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                         grpc::InsecureChannelCredentials())));
  bool ended = false;
  stream.Start([&] { ended = true; });
  v1::BroadcastRequest content;
  content.set_payload("data");
  Request request = content;
  std::string answer;
  Transport::Done done = [&](const absl::Status& status, const Response& response) {
    answer = status.ok() ? std::get<v1::BroadcastResponse>(response).payload() : status.ToString();
  };
  ASSERT_TRUE(stream.Send(1, &request, &done));
  stream.Retire();
  while (!ended) HandleNextEvent(&events, gpr_inf_future(GPR_CLOCK_MONOTONIC));
  EXPECT_EQ(answer, "data");
  events.Shutdown();
  while (HandleNextEvent(&events, gpr_inf_future(GPR_CLOCK_MONOTONIC))) {
  }
}

}  // namespace
}  // namespace muster::internal
