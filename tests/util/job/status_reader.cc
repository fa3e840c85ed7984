#include "tests/util/job/status_reader.h"

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);

// Connects with a short back-off. gRPC's own grows to two minutes.
std::shared_ptr<grpc::Channel> Connect(const std::string& coordinator) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 10);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // also limits each connection attempt
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(coordinator, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

struct StatusReader::Stub {
  std::unique_ptr<v1::CoordinatorService::Stub> service;
};

StatusReader::StatusReader(const std::string& coordinator)
    : stub_(new Stub{v1::CoordinatorService::NewStub(Connect(coordinator))}) {}

StatusReader::~StatusReader() = default;

v1::GetStatusResponse StatusReader::Get() {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(absl::ToChronoTime(absl::Now() + kPatience));
  v1::GetStatusResponse response;
  const grpc::Status status = stub_->service->GetStatus(&context, {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

bool StatusReader::WaitFor(const std::function<bool(const v1::GetStatusResponse&)>& condition) {
  v1::GetStatusResponse job;
  const auto reached = [&] { return condition(job = Get()); };
  if (WaitUntil(reached, kPatience)) return true;
  ADD_FAILURE() << "the job did not come to the awaited state; it is\n" << job.DebugString();
  return false;
}

bool StatusReader::WaitForParked(int members, const std::string& operation) {
  return WaitFor([&](const v1::GetStatusResponse& job) {
    int parked = 0;
    for (const v1::MemberStatus& member : job.members()) {
      parked += !member.waiting_in().empty() && absl::StrContains(member.waiting_in(), operation);
    }
    return parked >= members;
  });
}

bool StatusReader::WaitForState(v1::JobState state) {
  return WaitFor([state](const v1::GetStatusResponse& job) { return job.state() == state; });
}

}  // namespace muster::testing
