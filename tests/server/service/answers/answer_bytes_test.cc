// The encoding of answers: ranks share the bytes of one answer, and large payloads are not copied.

#include "server/service/answers/answer_bytes.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/v1/calls.pb.h"
#include "server/service/conversion/response_conversion.h"

namespace muster::service {
namespace {

using ::testing::ElementsAre;

core::Bytes Payload(size_t size, char content) {
  return std::make_shared<const std::string>(size, content);
}

core::Answer AllGatherAnswer(std::vector<core::Bytes> payloads) {
  return core::CollectiveAnswer{std::make_shared<const std::vector<core::Bytes>>(payloads), true,
                                std::make_shared<core::EncodingSlot>()};
}

template <typename Response>
std::vector<grpc::Slice> SlicesOf(const core::Answer& answer) {
  Response own;
  ToProto(answer, &own);
  grpc::ByteBuffer bytes;
  const absl::Status made = MakeAnswer(
      SlotOf(answer), [&] { return SharedPart(answer, own); }, own.SerializeAsString(), &bytes);
  EXPECT_TRUE(made.ok()) << made;
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(bytes.Dump(&slices).ok());
  return slices;
}

template <typename Response>
Response Parse(const std::vector<grpc::Slice>& slices) {
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  Response response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  return response;
}

TEST(AnswerBytesTest, IsTheWholeMessage) {
  const std::string large(MessageChunkWriter::kMinOwnChunkBytes, 'b');
  const core::Answer answer =
      AllGatherAnswer({Payload(3, 'a'), Payload(large.size(), 'b'), Payload(0, ' ')});
  const auto response = Parse<v1::AllGatherResponse>(SlicesOf<v1::AllGatherResponse>(answer));
  EXPECT_THAT(response.payloads(), ElementsAre("aaa", large, ""));
  EXPECT_TRUE(response.stop_requested());
}

TEST(AnswerBytesTest, IsAFieldOfACallsResponse) {
  const core::Answer answer = AllGatherAnswer({Payload(3, 'a'), Payload(200, 'b')});
  v1::AllGatherResponse own;
  ToProto(answer, &own);
  grpc::ByteBuffer bytes;
  ASSERT_TRUE(MakeCallResponse(
                  v1::CallResponse::kAllGatherFieldNumber, SlotOf(answer),
                  [&] { return SharedPart(answer, own); }, own.SerializeAsString(), &bytes)
                  .ok());
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(bytes.Dump(&slices).ok());
  const auto response = Parse<v1::CallResponse>(slices);
  EXPECT_EQ(response.code(), 0);
  EXPECT_THAT(response.all_gather().payloads(), ElementsAre("aaa", std::string(200, 'b')));
}

TEST(AnswerBytesTest, SmallPayloadsAreOneSliceThatAllAnswersShare) {
  const core::Answer answer = AllGatherAnswer(std::vector<core::Bytes>(1000, Payload(1024, 'a')));
  const std::vector<grpc::Slice> one = SlicesOf<v1::AllGatherResponse>(answer);
  const std::vector<grpc::Slice> other = SlicesOf<v1::AllGatherResponse>(answer);
  ASSERT_LE(one.size(), 2u);
  EXPECT_GT(one[0].size(), 1000u * 1024);
  EXPECT_EQ(one[0].begin(), other[0].begin());
}

TEST(AnswerBytesTest, LargePayloadsAreNotCopied) {
  const core::Bytes payload = Payload(1 << 20, 'a');
  const auto begin = reinterpret_cast<const uint8_t*>(payload->data());
  const core::Answer answer = AllGatherAnswer({payload, payload});
  const std::vector<grpc::Slice> slices = SlicesOf<v1::AllGatherResponse>(answer);
  EXPECT_EQ(slices.at(1).begin(), begin);
  EXPECT_EQ(slices.at(3).begin(), begin);
  EXPECT_EQ(SlicesOf<v1::BroadcastResponse>(AllGatherAnswer({payload})).at(1).begin(), begin);
}

TEST(AnswerBytesTest, ALeaseResultIsNotCopied) {
  const core::Bytes value = Payload(1 << 20, 'a');
  const core::Answer answer = core::LeaseAnswer(core::LeaseResult{5, absl::OkStatus(), value});
  const std::vector<grpc::Slice> slices = SlicesOf<v1::AcquireLeaseResponse>(answer);
  EXPECT_EQ(slices.at(1).begin(), reinterpret_cast<const uint8_t*>(value->data()));
  const auto response = Parse<v1::AcquireLeaseResponse>(slices);
  EXPECT_EQ(response.completed().token(), 5u);
  EXPECT_EQ(response.completed().value(), *value);
}

TEST(AnswerBytesTest, TheRosterIsEncodedOnceForJoinAndRejoin) {
  core::Roster roster(1000);
  for (core::RosterEntry& entry : roster) entry.member.node_id = "node-a";
  core::JoinAnswer place{{3, 4},
                         5,
                         std::make_shared<const core::Roster>(roster),
                         std::make_shared<core::EncodingSlot>()};
  const std::vector<grpc::Slice> join = SlicesOf<v1::JoinResponse>(place);
  place.rank = 6;
  const std::vector<grpc::Slice> rejoin = SlicesOf<v1::RejoinResponse>(place);
  EXPECT_EQ(join.at(0).begin(), rejoin.at(0).begin());
  EXPECT_EQ(Parse<v1::JoinResponse>(join).rank(), 5u);
  const auto response = Parse<v1::RejoinResponse>(rejoin);
  EXPECT_EQ(response.rank(), 6u);
  EXPECT_EQ(response.roster_size(), 1000);
  EXPECT_EQ(response.roster(999).member().node_id(), "node-a");
}

TEST(AnswerBytesTest, SharedMemoryIsFreedWithTheLastAnswer) {
  core::Bytes payload = Payload(1 << 20, 'a');
  const std::weak_ptr<const std::string> alive = payload;
  {
    const core::Answer answer = AllGatherAnswer({std::move(payload)});
    const std::vector<grpc::Slice> slices = SlicesOf<v1::AllGatherResponse>(answer);
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace muster::service
