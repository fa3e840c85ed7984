// Tests of `muster debug` against coordinators that are busy with an inquiry, or too old for it.

#include "client/cli/inquire/debug_command.h"

#include <atomic>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "common/process/exit_codes.h"
#include "gmock/gmock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A coordinator that answers a number of requests with an inquiry of its own, and only then begins
// the one with files.
class BusyCoordinator final : public v1::CoordinatorService::Service {
 public:
  explicit BusyCoordinator(uint64_t busy_for) : busy_for_(busy_for) {}

  grpc::Status RequestInquiry(grpc::ServerContext*, const v1::RequestInquiryRequest*,
                              v1::RequestInquiryResponse* response) override {
    ++requests_;
    response->set_number(Number());
    return grpc::Status::OK;
  }
  grpc::Status GetInquiry(grpc::ServerContext*, const v1::GetInquiryRequest* request,
                          v1::GetInquiryResponse* response) override {
    v1::Inquiry* const inquiry = response->mutable_inquiry();
    inquiry->set_number(Number());
    inquiry->set_wants_files(requests_ > busy_for_);
    inquiry->set_complete(true);
    inquiry->set_verdict("rank 1 is stopped");
    if (!request->without_reports()) response->add_reports()->mutable_launcher()->set_node("n7");
    return grpc::Status::OK;
  }
  grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                         v1::GetStatusResponse*) override {
    return grpc::Status::OK;
  }
  uint64_t requests() const { return requests_; }

 private:
  uint64_t Number() const { return requests_ > busy_for_ ? 2 : 1; }

  const uint64_t busy_for_;
  std::atomic<uint64_t> requests_{0};
};

// A coordinator of a release before inquiries. It implements none of these calls.
class OldCoordinator final : public v1::CoordinatorService::Service {};

class DebugCommandTest : public ::testing::Test {
 protected:
  // Runs `muster debug` and returns its exit status. Its output is in output().
  int Debug(grpc::Service* service, const std::string& output = "") {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    DebugFlags flags;
    flags.coordinator = "127.0.0.1:" + std::to_string(port);
    flags.output =
        output.empty() ? ::testing::TempDir() + "bundle-" + std::to_string(port) : output;
    std::streambuf* const before = std::cerr.rdbuf(output_.rdbuf());
    const int status = RunDebugCommand(flags);
    std::cerr.rdbuf(before);
    return status;
  }
  std::string output() const { return output_.str(); }

 private:
  std::ostringstream output_;
};

TEST_F(DebugCommandTest, RetriesUntilAnInquiryGathersFiles) {
  BusyCoordinator coordinator(3);
  EXPECT_EQ(Debug(&coordinator), 0);
  EXPECT_EQ(coordinator.requests(), 4u);
  EXPECT_THAT(output(), HasSubstr("the coordinator has an inquiry of its own under way"));
  EXPECT_THAT(output(), Not(HasSubstr("no inquiry with files")));
}

TEST_F(DebugCommandTest, PrintsNothingIfTheFirstInquiryGathersFiles) {
  BusyCoordinator coordinator(0);
  EXPECT_EQ(Debug(&coordinator), 0);
  EXPECT_EQ(coordinator.requests(), 1u);
  EXPECT_EQ(output(), "");
}

TEST_F(DebugCommandTest, ANonEmptyFolderIsRejectedBeforeTheInquiry) {
  BusyCoordinator coordinator(0);
  const std::string folder = ::testing::TempDir() + "earlier";
  ASSERT_EQ(Debug(&coordinator, folder), 0);
  const uint64_t before = coordinator.requests();
  EXPECT_EQ(Debug(&coordinator, folder), exit_codes::kBadConfiguration);
  EXPECT_EQ(coordinator.requests(), before);
  EXPECT_THAT(output(), HasSubstr(folder + " exists and is not an empty folder"));
}

TEST_F(DebugCommandTest, ATarInAMissingFolderIsRejectedBeforeTheInquiry) {
  BusyCoordinator coordinator(0);
  for (const std::string name : {"/hang.tar", "/hang.tar.gz"}) {
    EXPECT_EQ(Debug(&coordinator, "/no/such/folder" + name), exit_codes::kBadConfiguration);
  }
  EXPECT_EQ(coordinator.requests(), 0u);
  EXPECT_THAT(output(),
              HasSubstr("--output: there is no folder /no/such/folder; create the folder"));
}

TEST_F(DebugCommandTest, SaysThatAMusterdIsTooOld) {
  OldCoordinator coordinator;
  EXPECT_EQ(Debug(&coordinator), 1);
  EXPECT_THAT(output(), HasSubstr("this musterd is older than this muster"));
}

}  // namespace
}  // namespace muster::cli
