// Tests of what a launcher sends of its gathered files to a coordinator that limits the size of
// calls, and of what it writes.

#include "client/launcher/coordinator/inquiry_gatherer.h"

#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "tests/util/process/process.h"

namespace muster::launcher {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A coordinator that takes reports of at most `max_bytes` bytes, and answers with this inquiry.
class Coordinator final : public v1::CoordinatorService::Service {
 public:
  explicit Coordinator(size_t max_bytes, v1::Inquiry inquiry = {})
      : max_bytes_(max_bytes), inquiry_(std::move(inquiry)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status ReportInquiry(grpc::ServerContext*, const v1::ReportInquiryRequest* request,
                             v1::ReportInquiryResponse*) override {
    if (request->ByteSizeLong() > max_bytes_) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "these are too many bytes"};
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    reports_.push_back(*request);
    return grpc::Status::OK;
  }
  grpc::Status GetInquiry(grpc::ServerContext*, const v1::GetInquiryRequest*,
                          v1::GetInquiryResponse* response) override {
    *response->mutable_inquiry() = inquiry_;
    return grpc::Status::OK;
  }
  std::vector<v1::ReportInquiryRequest> reports() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reports_;
  }

 private:
  const size_t max_bytes_;
  const v1::Inquiry inquiry_;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<v1::ReportInquiryRequest> reports_;
  std::unique_ptr<grpc::Server> server_;
};

// Returns the calls of a node of 32 ranks that reports as many bytes of files as a node may send,
// and what it saw of each rank.
std::vector<v1::ReportInquiryRequest> Report(size_t max_bytes) {
  Coordinator coordinator(max_bytes);
  CoordinatorClient client(coordinator.address(), {});
  v1::ReportInquiryRequest report;
  std::vector<observe::File> files;
  for (int rank = 0; rank < 32; ++rank) {
    report.add_ranks()->set_target(std::string(1000, 'x'));
    const std::string name = "rank-" + std::to_string(rank) + "/stacks.txt";
    files.push_back({name, std::string(observe::kMaxNodeBytes / 32 - name.size(), 's')});
  }
  SendReport(&client, report, files);
  return coordinator.reports();
}

TEST(ReportTest, SlightlyTooLongFilesAreCutSlightly) {
  const auto reports = Report(observe::kMaxNodeBytes);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].files_size(), 32);
  EXPECT_GT(reports[0].ByteSizeLong(), observe::kMaxNodeBytes * 7 / 8);
}

TEST(ReportTest, WithLittleRoomTheLongestFilesAreCut) {
  const auto reports = Report(observe::kMaxNodeBytes / 4);
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].files_size(), 32);
  EXPECT_THAT(reports[0].files(0).content(), EndsWith("... (cut)\n"));
}

TEST(ReportTest, WithoutRoomForFilesObservationsAreStillSent) {
  const auto reports = Report(64 << 10);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].files_size(), 0);
  EXPECT_EQ(reports[0].ranks_size(), 32);
}

v1::Inquiry InquiryOf(uint64_t number) {
  v1::Inquiry inquiry;
  inquiry.set_number(number);
  inquiry.set_reason("a barrier waits");
  inquiry.set_verdict("rank 3 sleeps");
  return inquiry;
}

// The outcome of an inquiry if the coordinator is at inquiry `latest`.
struct Written {
  std::string message;
  std::string verdict;
};
Written Write(const v1::Inquiry& inquiry, const v1::Inquiry& latest) {
  const Coordinator coordinator(0, latest);
  const std::string folder = muster::testing::MakeTempDir();
  std::promise<std::string> message;
  const auto gatherer = std::make_shared<InquiryGatherer>(
      folder, [&message](std::string line) { message.set_value(std::move(line)); });
  EXPECT_TRUE(gatherer->Reserve(inquiry));
  gatherer->Start({std::make_shared<CoordinatorClient>(coordinator.address(), CredentialFiles{}),
                   std::make_shared<RankInspection>(std::vector<WatchedRank>(), nullptr, nullptr),
                   inquiry,
                   {}});
  Written written;
  written.message = message.get_future().get();
  for (const auto& bundle : std::filesystem::directory_iterator(folder)) {
    written.verdict += muster::testing::ReadFile(bundle.path() / "verdict.txt");
  }
  return written;
}

TEST(NodeBundleTest, HasThePrintedVerdict) {
  const Written written = Write(InquiryOf(7), InquiryOf(7));
  EXPECT_THAT(written.verdict, AllOf(StartsWith("rank 3 sleeps\n"), HasSubstr("a barrier waits")));
  EXPECT_THAT(written.message, EndsWith("; verdict: rank 3 sleeps"));
}

TEST(NodeBundleTest, ExplainsAMissingVerdict) {
  const Written written = Write(InquiryOf(7), InquiryOf(8));
  EXPECT_THAT(written.verdict,
              AllOf(StartsWith("no verdict from the coordinator: another inquiry has begun since"),
                    HasSubstr("a barrier waits")));
  EXPECT_THAT(written.message, HasSubstr("; no verdict from the coordinator: "));
}

}  // namespace
}  // namespace muster::launcher
