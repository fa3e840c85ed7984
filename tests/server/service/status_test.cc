// The conversion of a status to gRPC: its message must fit into the metadata.

#include "server/service/status.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::service {
namespace {

TEST(StatusTest, KeepsCodeAndText) {
  const grpc::Status status = ToGrpcStatus(absl::NotFoundError("no such rank"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such rank");
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
}

TEST(StatusTest, CutsTextsThatMetadataCannotHold) {
  const grpc::Status status = ToGrpcStatus(absl::AbortedError(std::string(100000, 'x')));
  EXPECT_LT(status.error_message().size(), 8000);
  EXPECT_THAT(status.error_message(), ::testing::EndsWith("x..."));
}

TEST(StatusTest, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "\u00e9";
  std::string cut = ToGrpcStatus(absl::AbortedError(text)).error_message();
  ASSERT_THAT(cut, ::testing::EndsWith("..."));
  cut.resize(cut.size() - 3);
  EXPECT_EQ(cut.size() % 2, 0);
  EXPECT_LT(cut.size() * 3, 8000) << "each byte is sent as %XX";
}

}  // namespace
}  // namespace muster::service
