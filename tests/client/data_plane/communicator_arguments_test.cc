// Tests of the arguments that Communicator rejects before anything is sent.

#include <vector>

#include "muster/communicator.h"
#include "tests/client/data_plane/recording_backend.h"

namespace muster {
namespace {

using ::muster::testing::CommunicatorTest;

TEST_F(CommunicatorTest, RefusesSizesThatDoNotFit) {
  const std::vector<float> three(3);
  std::vector<float> two(2);
  const absl::Span<const float> in(three);
  ExpectRefused(comm_.AllReduce(in, absl::MakeSpan(two)),
                "AllReduce on rank 1 of 4: in has 3 elements and out has 2, expected the same "
                "number");
  ExpectRefused(comm_.Reduce(in, absl::MakeSpan(two), ReduceOp::kSum, 1),
                "Reduce on rank 1 of 4: in has 3 elements and out has 2, expected the same number");
  ExpectRefused(comm_.AllGather(in, absl::MakeSpan(two)),
                "AllGather on rank 1 of 4: out has 2 elements and in has 3, expected out to have 4 "
                "times as many as in");
  ExpectRefused(comm_.ReduceScatter(in, absl::MakeSpan(two)),
                "ReduceScatter on rank 1 of 4: in has 3 elements and out has 2, expected in to "
                "have 4 times as many as out");
}

TEST_F(CommunicatorTest, OnlyTheRootOfAReduceNeedsAnOutput) {
  const std::vector<float> three(3);
  EXPECT_TRUE(
      comm_.Reduce(absl::Span<const float>(three), absl::Span<float>(), ReduceOp::kSum, 0).ok());
}

TEST_F(CommunicatorTest, RefusesRootsAndPeersOutOfRange) {
  std::vector<int32_t> data(1);
  const absl::Span<const int32_t> in(data);
  ExpectRefused(comm_.Broadcast(absl::MakeSpan(data), 4),
                "Broadcast on rank 1 of 4: root is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.Reduce(in, absl::MakeSpan(data), ReduceOp::kSum, -1),
                "Reduce on rank 1 of 4: root is -1, expected a rank from 0 to 3");
  ExpectRefused(comm_.Send(in, 4), "Send on rank 1 of 4: peer is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.Recv(absl::MakeSpan(data), 1),
                "Recv on rank 1 of 4: peer is this rank itself, expected another one");
}

TEST_F(CommunicatorTest, RefusesPartsThatDoNotFit) {
  std::vector<int32_t> three(3), four(4), eight(8);
  ExpectRefused(comm_.AllToAll(three, four),
                "AllToAll on rank 1 of 4: in has 3 elements and out has 4, expected the same "
                "number");
  ExpectRefused(comm_.AllToAll(absl::MakeConstSpan(eight).first(6), absl::MakeSpan(eight).first(6)),
                "AllToAll on rank 1 of 4: in has 6 elements and a part has 1, expected in to have "
                "4 times as many as a part");
  ExpectRefused(comm_.AllToAll(eight, eight),
                "AllToAll on rank 1 of 4: in and out overlap, expected them to be disjoint");
  ExpectRefused(comm_.AllGather(three, {1, 2, 3}, eight),
                "AllGather on rank 1 of 4: there are 3 counts, expected one for each of 4 ranks");
  ExpectRefused(comm_.AllGather(three, {0, 2, 1, 5}, eight),
                "AllGather on rank 1 of 4: in has 3 elements and out has 8, expected 2 and 8 by "
                "counts");
  EXPECT_TRUE(comm_.AllGather(three, {0, 3, 0, 5}, eight).ok());
}

TEST_F(CommunicatorTest, RefusesExchangesWithInvalidPeers) {
  std::vector<int32_t> out(3), in(4);
  ExpectRefused(comm_.SendRecv(out, 2, in, 4),
                "SendRecv on rank 1 of 4: peer is 4, expected a rank from 0 to 3");
  ExpectRefused(comm_.SendRecv(out, 1, in, 2),
                "SendRecv on rank 1 of 4: peer is this rank itself, expected another one");
  ExpectRefused(comm_.SendRecv(out, 1, in, 1),
                "SendRecv on rank 1 of 4: out has 3 elements and in has 4, expected the same "
                "number where a rank sends to itself");
  ExpectRefused(comm_.SendRecv(in, 2, in, 0),
                "SendRecv on rank 1 of 4: in and out overlap, expected them to be disjoint");
  EXPECT_TRUE(comm_.SendRecv(out, 2, in, 0).ok());
  EXPECT_EQ(record_.calls, 1);
  out = {7, 8, 9};
  std::vector<int32_t> own(3);
  EXPECT_TRUE(comm_.SendRecv(out, 1, own, 1).ok());
  EXPECT_EQ(own, out) << "a rank that sends to itself";
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(CommunicatorTest, RefusesImpossibleExchanges) {
  std::vector<int32_t> a(3), b(3);
  std::vector<double> c(2);
  const OutgoingTensor to_self[] = {{ViewOf(a), 2}, {ViewOf(a), 1}};
  ExpectRefused(comm_.SendRecv(to_self, {}),
                "SendRecv on rank 1 of 4: peer is this rank itself, expected another one");
  const IncomingTensor nobody[] = {{MutableViewOf(b), -1}};
  ExpectRefused(comm_.SendRecv({}, nobody),
                "SendRecv on rank 1 of 4: peer is -1, expected a rank from 0 to 3");
  constexpr char kOverlap[] =
      "SendRecv on rank 1 of 4: what is received overlaps with another tensor, expected them to be "
      "disjoint";
  const OutgoingTensor sends[] = {{ViewOf(a), 0}, {ViewOf(a), 2}, {ViewOf(c), 0}};
  const IncomingTensor into_sent[] = {{MutableViewOf(b), 0}, {MutableViewOf(c), 2}};
  ExpectRefused(comm_.SendRecv(sends, into_sent), kOverlap);
  const IncomingTensor twice[] = {{MutableViewOf(b), 0}, {MutableViewOf(b), 2}};
  ExpectRefused(comm_.SendRecv(sends, twice), kOverlap);
  EXPECT_EQ(record_.calls, 0);
  const IncomingTensor receives[] = {{MutableViewOf(b), 0}};
  EXPECT_TRUE(comm_.SendRecv(sends, receives).ok()) << "one tensor may go to several";
  EXPECT_EQ(record_.calls, 1);
}

TEST_F(CommunicatorTest, ViewsAreCheckedBeforeAnythingIsSent) {
  std::vector<float> floats(4), others(4);
  std::vector<int32_t> integers(4);
  const MutableTensorView data = MutableViewOf(floats);
  ExpectRefused(comm_.AllReduce(data, MutableViewOf(integers)),
                "AllReduce: in is float32 [4] and out is int32 [4], expected the same type");
  MutableTensorView wrong = data;
  wrong.shape = {5};
  ExpectRefused(comm_.Broadcast(wrong),
                "Broadcast: a tensor of type and shape float32 [5] cannot have 16 bytes");
  wrong = data;
  wrong.type = static_cast<DataType>(99);
  ExpectRefused(comm_.Send(wrong, 2),
                "Send: the tensor's type is 99, expected one of DataType's values");
  wrong = data;
  wrong.data = reinterpret_cast<char*>(floats.data()) + 1;
  ExpectRefused(comm_.Recv(wrong, 2),
                "Recv: the tensor's data is not aligned to 4 bytes; copy it first");
  ExpectRefused(comm_.AllGather(data, data),
                "AllGather on rank 1 of 4: out has 4 elements and in has 4, expected out to have 4 "
                "times as many as in");
  const MutableTensorView refused[] = {data, MutableTensorView{DataType::kUint64, {0}, nullptr, 0}};
  EXPECT_EQ(comm_.AllReduceCoalesced(refused), absl::UnimplementedError("no uint64"));
  EXPECT_EQ(record_.calls, 0) << "not even the type that is not refused";
  EXPECT_TRUE(comm_.AllReduce(data, MutableViewOf(others)).ok());
}

TEST_F(CommunicatorTest, RefusesUnknownReductions) {
  std::vector<double> data(1);
  ExpectRefused(
      comm_.AllReduce(absl::MakeSpan(data), static_cast<ReduceOp>(99)),
      "AllReduce on rank 1 of 4: op is 99, expected one of ReduceOp's: sum, product, min, "
      "max, average, bitwise and, bitwise or");
}

TEST_F(CommunicatorTest, RefusesBitwiseReductionsOfFloats) {
  std::vector<double> data(1);
  ExpectRefused(
      comm_.AllReduce(absl::MakeSpan(data), ReduceOp::kBitwiseOr),
      "AllReduce on rank 1 of 4: op is bitwise or, which is for integers and bool, not for "
      "float64");
}

TEST_F(CommunicatorTest, RefusesPartialOverlap) {
  std::vector<uint8_t> data(16);
  const absl::Span<uint8_t> all = absl::MakeSpan(data);
  const std::string text =
      ": in and out overlap in part; expected them to be disjoint, or one to be this rank's "
      "place in the other";
  ExpectRefused(comm_.AllReduce(absl::Span<const uint8_t>(all.subspan(0, 8)), all.subspan(4, 8)),
                "AllReduce on rank 1 of 4" + text);
  ExpectRefused(comm_.AllGather(absl::Span<const uint8_t>(all.subspan(0, 4)), all),
                "AllGather on rank 1 of 4" + text);
  ExpectRefused(comm_.ReduceScatter(absl::Span<const uint8_t>(all), all.subspan(8, 4)),
                "ReduceScatter on rank 1 of 4" + text);
  EXPECT_TRUE(comm_.AllGather(absl::Span<const uint8_t>(all.subspan(4, 4)), all).ok());
}

TEST_F(CommunicatorTest, RefusesInvalidTimeouts) {
  CallOptions options;
  options.timeout = absl::Seconds(-1);
  ExpectRefused(comm_.Barrier(options),
                "Barrier on rank 1 of 4: timeout is -1s, expected one that is not negative and not "
                "infinite");
  options.timeout = absl::InfiniteDuration();
  ExpectRefused(comm_.Barrier(options),
                "Barrier on rank 1 of 4: timeout is inf, expected one that is not negative and not "
                "infinite");
  CommunicatorOptions create;
  create.timeout = absl::Seconds(-2);
  EXPECT_EQ(Communicator::Create(job_.world(1), create).status().message(),
            "Communicator::Create on rank 1 of 4: timeout is -2s, expected one that is not "
            "negative and not infinite");
}

TEST_F(CommunicatorTest, AnUnsupportedTypeIsRefusedAndEndsNothing) {
  std::vector<uint64_t> data(4), others(4);
  const absl::Span<uint64_t> all = absl::MakeSpan(data);
  const absl::Span<const uint64_t> one = absl::Span<const uint64_t>(all.subspan(1, 1));
  const absl::Span<uint64_t> buffers[] = {all};
  for (const absl::Status& status :
       {comm_.AllReduce(all), comm_.AllReduceCoalesced<uint64_t>(buffers), comm_.Broadcast(all),
        comm_.Reduce(one, all.subspan(1, 1), ReduceOp::kSum, 0), comm_.AllGather(one, all),
        comm_.AllGather(one, std::vector<size_t>{1, 1, 1, 1}, all), comm_.AllToAll(data, others),
        comm_.SendRecv(data, 2, others, 0),
        comm_.ReduceScatter(absl::Span<const uint64_t>(all), all.subspan(1, 1)), comm_.Send(one, 2),
        comm_.Recv(all, 2)}) {
    EXPECT_EQ(status, absl::UnimplementedError("no uint64"));
  }
  EXPECT_EQ(record_.calls, 0);
  EXPECT_TRUE(comm_.Barrier().ok());
}

}  // namespace
}  // namespace muster
