// Tests of what a launcher asks while it watches its job. A coordinator of thousands of members
// cannot give its whole status to each node every few seconds.

#include "client/launcher/coordinator/job_watch.h"

#include <poll.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::launcher {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr char kOwn[] = "sixteen bytes it";

// A coordinator of a job that has failed.
class Coordinator final : public v1::CoordinatorService::Service {
 public:
  Coordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  int port() const { return port_; }

  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back(*request);
    response->set_job_id("job");
    response->set_brief(request->brief());
    response->mutable_epoch()->set_number(1);
    response->set_state(v1::JOB_STATE_FAILED);
    response->set_reason("rank 1 was lost");
    v1::MemberStatus* const own = response->add_members();
    own->mutable_member()->set_incarnation(kOwn);
    own->set_rank(0);
    return grpc::Status::OK;
  }
  std::vector<v1::GetStatusRequest> requests() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return requests_;
  }

 private:
  int port_ = 0;
  std::mutex mutex_;
  std::vector<v1::GetStatusRequest> requests_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(JobWatchTest, AsksForABriefStatusOfItsOwnProcesses) {
  Coordinator coordinator;
  JobPlan plan;
  plan.job = "job";
  plan.coordinator = {"127.0.0.1", coordinator.port()};
  JobWatch watch(plan, /*group=*/nullptr);
  ASSERT_TRUE(watch.started().ok()) << watch.started();
  watch.AddOwn(kOwn);
  pollfd failed = {watch.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&failed, 1, /*timeout=*/-1), 1);
  EXPECT_EQ(watch.reason(), "rank 1 was lost");
  EXPECT_TRUE(watch.formed());
  const std::vector<v1::GetStatusRequest> requests = coordinator.requests();
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_TRUE(requests[0].brief());
  EXPECT_THAT(requests[0].incarnations(), ElementsAre(kOwn));
  EXPECT_FALSE(requests[0].with_completed_leases());
  EXPECT_FALSE(requests[0].with_timeline());
}

}  // namespace
}  // namespace muster::launcher
