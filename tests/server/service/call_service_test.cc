// Calls of members over one stream, over real gRPC. What the calls mean is tested with rpcs.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/async_stream.h"
#include "muster/v1/calls.grpc.pb.h"
#include "tests/server/service/crowd.h"
#include "tests/server/service/test_job.h"

namespace muster::testing {
namespace {

using ::testing::HasSubstr;

// A stream of calls on the wire.
class WireCalls {
 public:
  explicit WireCalls(const std::string& address) : WireCalls(Connect(address)) {}
  explicit WireCalls(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::CallService::NewStub(channel)) {
    context_.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(60)));
    stream_ = stub_->Call(&context_);
  }

  bool Send(const v1::CallRequest& request) { return stream_->Write(request); }
  // Returns the next response, or the status of the stream if it has ended.
  absl::StatusOr<v1::CallResponse> Read() {
    v1::CallResponse response;
    if (stream_->Read(&response)) return response;
    const grpc::Status end = stream_->Finish();
    if (end.ok()) return absl::OutOfRangeError("ended with OK");
    return FromGrpc(end);
  }
  void EndSending() { stream_->WritesDone(); }
  void Disconnect() { context_.TryCancel(); }

 private:
  const std::unique_ptr<v1::CallService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CallRequest, v1::CallResponse>> stream_;
};

// A stream whose responses stay unread until Read().
class UnreadCalls {
 public:
  explicit UnreadCalls(const std::string& address)
      : stub_(v1::CallService::NewStub(ConnectSlowly(address))) {
    stream_ = stub_->AsyncCall(&context_, &queue_, nullptr);
    Await();
  }
  ~UnreadCalls() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // Sends the requests that `next` returns for 1, 2, ... until the daemon has read none for
  // seconds. Returns how many were sent, with the one that is being sent.
  uint64_t SendUntilBlocked(const std::function<v1::CallRequest(uint64_t)>& next, uint64_t most) {
    constexpr std::chrono::seconds kBlocked{3};
    for (uint64_t sent = 0; sent < most; ++sent) {
      stream_->Write(next(sent + 1), nullptr);
      void* tag = nullptr;
      bool ok = false;
      const auto until = std::chrono::system_clock::now() + kBlocked;
      if (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::TIMEOUT) return sent + 1;
    }
    return most;
  }

  // Reads this many responses, and sends what is still being sent.
  void Read(uint64_t responses) {
    for (uint64_t i = 0; i < responses; ++i) {
      v1::CallResponse response;
      stream_->Read(&response, &response);
      while (Await() != &response) {
      }
    }
  }

 private:
  void* Await() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    EXPECT_TRUE(ok);
    return tag;
  }

  const std::unique_ptr<v1::CallService::Stub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::CallRequest, v1::CallResponse>> stream_;
};

v1::CallRequest BarrierOf(TestMember* member) {
  v1::CallRequest request;
  *request.mutable_barrier()->mutable_context() = member->CollectiveContext();
  return request;
}

class CallServiceTest : public ::testing::Test {
 protected:
  std::unique_ptr<service::Server> server_ = StartServer();
  TestJob job_{server_->address(), 2};
};

TEST_F(CallServiceTest, AStreamMeetsAnRpcInOneBarrier) {
  WireCalls calls(server_->address());
  ASSERT_TRUE(calls.Send(BarrierOf(&job_[0])));
  EXPECT_THAT(job_[1].Barrier(), IsOk());
  const auto response = calls.Read();
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->code(), 0);
  EXPECT_TRUE(response->has_barrier());
}

TEST_F(CallServiceTest, CallsFollowOneAnother) {
  WireCalls calls(server_->address());
  for (uint64_t i = 0; i < 5; ++i) {
    job_[0].set_completed(i);
    ASSERT_TRUE(calls.Send(BarrierOf(&job_[0])));
    EXPECT_THAT(job_[1].Barrier(), IsOk());
    ASSERT_THAT(calls.Read(), IsOk());
  }
}

TEST_F(CallServiceTest, ARequestIsReadAfterTheResponseBefore) {
  WireCalls calls(server_->address());
  calls.Send(BarrierOf(&job_[0]));
  calls.Send(BarrierOf(&job_[1]));  // would complete the barrier
  AwaitStatus(job_[0].stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives_size() == 1;
  });
  EXPECT_THAT(job_[1].Barrier(), IsOk());
  EXPECT_THAT(calls.Read(), IsOk());
  const auto replaced = calls.Read();  // by the call with a higher attempt
  ASSERT_THAT(replaced, IsOk());
  EXPECT_EQ(replaced->code(), static_cast<uint32_t>(absl::StatusCode::kCancelled));
}

TEST_F(CallServiceTest, AFailedCallHasItsCodeAndText) {
  WireCalls calls(server_->address());
  v1::CallRequest request = BarrierOf(&job_[0]);
  request.mutable_barrier()->clear_context();
  calls.Send(request);
  const auto response = calls.Read();
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(response->message(), HasSubstr("context"));
}

TEST_F(CallServiceTest, TheCallOfACancelledStreamIsWithdrawn) {
  WireCalls calls(server_->address());
  calls.Send(BarrierOf(&job_[0]));
  AwaitStatus(job_[1].stub(), [](const v1::GetStatusResponse& status) {
    return !status.pending_collectives().empty();
  });
  calls.Disconnect();
  AwaitStatus(job_[1].stub(), [](const v1::GetStatusResponse& status) {
    return status.pending_collectives().empty();
  });
}

TEST_F(CallServiceTest, ACallerThatHasEndedItsSideGetsItsResponse) {
  WireCalls calls(server_->address());
  calls.Send(BarrierOf(&job_[0]));
  calls.EndSending();
  EXPECT_THAT(job_[1].Barrier(), IsOk());
  EXPECT_THAT(calls.Read(), IsOk());
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("OK")));
}

TEST_F(CallServiceTest, ARequestWithoutContentEndsTheStream) {
  WireCalls calls(server_->address());
  v1::CallRequest request;
  calls.Send(request);
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("CallRequest has no request")));
}

TEST_F(CallServiceTest, ADrainingDaemonAnswersTheCallAndEndsTheStream) {
  WireCalls calls(server_->address());
  calls.Send(BarrierOf(&job_[0]));
  AwaitStatus(job_[1].stub(), [](const v1::GetStatusResponse& status) {
    return !status.pending_collectives().empty();
  });
  server_->Shutdown("maintenance", absl::Seconds(60));
  const auto response = calls.Read();
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->code(), static_cast<uint32_t>(absl::StatusCode::kUnavailable));
  EXPECT_THAT(response->message(), HasSubstr("maintenance"));
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("maintenance")));
}

TEST_F(CallServiceTest, ARequestThatCannotBeParsedEndsTheStream) {
  WireCalls calls(server_->address());
  v1::CallRequest request = BarrierOf(&job_[0]);
  v1::CallRequest::GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      v1::CallRequest::kBarrierFieldNumber, "no barrier");
  calls.Send(request);
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
}

TEST_F(CallServiceTest, ADrainingDaemonEndsAStreamWithoutACall) {
  WireCalls calls(server_->address());
  v1::CallRequest request;
  request.mutable_barrier();
  calls.Send(request);
  EXPECT_THAT(calls.Read(), IsOk());
  server_->Shutdown("maintenance", absl::Seconds(60));
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("maintenance")));
}

TEST_F(CallServiceTest, ASenderThatReadsNothingIsNotReadEither) {
  constexpr uint64_t kMost = 50'000;
  UnreadCalls calls(server_->address());
  // A KiB each, so that windows of some MiB hold few of them.
  const std::string unknown(1 << 10, 'x');
  const auto invalid = [&](uint64_t) {
    v1::CallRequest request;
    request.mutable_barrier()->mutable_context()->mutable_group()->set_name(unknown);
    return request;
  };
  const uint64_t sent = calls.SendUntilBlocked(invalid, kMost);
  EXPECT_LT(sent, kMost);
  calls.Read(sent);  // the daemon reads on
}

TEST_F(CallServiceTest, ALaterSendEndsTheStreamThatHoldsTheUnreadAnswerToTheEarlierOne) {
  const std::string payload(16 << 20, 'x');
  WireCalls calls(ConnectSlowly(server_->address()));
  v1::CallRequest request;
  *request.mutable_all_gather()->mutable_context() = job_[0].CollectiveContext();
  request.mutable_all_gather()->set_payload(payload);
  calls.Send(request);
  EXPECT_THAT(job_[1].AllGather(payload), IsOk());
  EXPECT_THAT(job_[0].AllGather(payload), IsOk());
  EXPECT_THAT(calls.Read(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

// Callers send, stop to send, and go away at any moment.
TEST_F(CallServiceTest, RandomSchedulesLeaveNothingBehind) {
  constexpr int kStreams = 3;
  constexpr int kSteps = 60;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return random() % n; };
    std::vector<std::unique_ptr<WireCalls>> streams(kStreams);
    std::vector<std::thread> readers(kStreams);
    const auto close = [&](uint32_t i) {
      if (streams[i] == nullptr) return;
      below(2) == 0 ? streams[i]->Disconnect() : streams[i]->EndSending();
      // Calls that have been sent may wait for ranks that never come.
      streams[i]->Disconnect();
      readers[i].join();
      streams[i] = nullptr;
    };
    for (int step = 0; step < kSteps; ++step) {
      const uint32_t i = below(kStreams);
      if (streams[i] == nullptr) {
        streams[i] = std::make_unique<WireCalls>(server_->address());
        readers[i] = std::thread([calls = streams[i].get()] {
          while (calls->Read().ok()) {
          }
        });
      }
      if (below(5) < 4) {
        streams[i]->Send(BarrierOf(&job_[static_cast<int>(below(2))]));
      } else {
        close(i);
      }
    }
    for (uint32_t i = 0; i < kStreams; ++i) close(i);
    AwaitStatus(job_[0].stub(), [](const v1::GetStatusResponse& status) {
      return status.pending_collectives().empty();
    });
  }
}

}  // namespace
}  // namespace muster::testing
