// Tests of tensors that one rank sends to another.

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/client/gloo/communicators.h"
#include "tests/util/fakes/fake_job.h"

namespace muster {
namespace {

using ::muster::testing::CommunicatorsTest;
using ::muster::testing::Const;
using ::muster::testing::FakeJob;
using ::muster::testing::Layouts;
using ::muster::testing::NameOfLayoutParam;
using ::muster::testing::ValuesOf;

class MessagesTest : public CommunicatorsTest {};

TEST_P(MessagesTest, AllRanksOfARingSendAndReceiveAtOnce) {
  WithCommunicators([](Communicator& comm) {
    const int right = (comm.rank() + 1) % comm.size();
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    for (size_t count : {size_t{0}, size_t{1}, size_t{1001}, size_t{4} << 20}) {
      // Other ranks' messages may be larger.
      const std::vector<uint8_t> out = ValuesOf<uint8_t>(comm.rank(), count + comm.rank());
      std::vector<uint8_t> in(count + left);
      EXPECT_TRUE(comm.SendRecv(out, right, in, left).ok());
      EXPECT_EQ(in, ValuesOf<uint8_t>(left, count + left));
    }
  });
}

// Every rank exchanges messages with every other rank, and twice with its neighbour. Each pair has
// its own type and size.
TEST_P(MessagesTest, ManySendsAndReceivesAreMadeAtOnce) {
  WithCommunicators([](Communicator& comm) {
    const int n = comm.size();
    const int right = (comm.rank() + 1) % n;
    const int left = (comm.rank() + n - 1) % n;
    const auto size = [](int from, int to) { return size_t{1000} * from + to; };
    std::vector<std::vector<int64_t>> out(n), in(n);
    std::vector<float> second = {1.0f * comm.rank(), 2}, received(2);
    std::vector<OutgoingTensor> sends;
    std::vector<IncomingTensor> receives;
    for (int peer = n - 1; peer >= 0; --peer) {
      if (peer == comm.rank()) continue;
      out[peer] = ValuesOf<int64_t>(comm.rank(), size(comm.rank(), peer));
      in[peer].resize(size(peer, comm.rank()));
      sends.push_back({ViewOf(out[peer]), peer});
      receives.push_back({MutableViewOf(in[peer]), peer});
    }
    if (n > 1) {
      sends.push_back({ViewOf(second), right});
      receives.push_back({MutableViewOf(received), left});
    }
    EXPECT_TRUE(comm.SendRecv(sends, receives).ok());
    for (int peer = 0; peer < n; ++peer) {
      if (peer == comm.rank()) continue;
      EXPECT_EQ(in[peer], ValuesOf<int64_t>(peer, size(peer, comm.rank())));
    }
    if (n > 1) {
      EXPECT_EQ(received, (std::vector<float>{1.0f * left, 2}));
    }
  });
}

TEST_P(MessagesTest, BatchesPairUpWithSingleMessagesInOrder) {
  WithCommunicators([](Communicator& comm) {
    if (comm.size() < 2 || comm.rank() > 1) return;
    std::vector<int32_t> one(1), two(2);
    if (comm.rank() == 0) {
      EXPECT_TRUE(comm.Send(std::vector<int32_t>{1}, 1).ok());
      EXPECT_TRUE(comm.Send(std::vector<int32_t>{2, 3}, 1).ok());
    } else {
      const IncomingTensor receives[] = {{MutableViewOf(one), 0}, {MutableViewOf(two), 0}};
      EXPECT_TRUE(comm.SendRecv({}, receives).ok());
      EXPECT_EQ(one, std::vector<int32_t>({1}));
      EXPECT_EQ(two, std::vector<int32_t>({2, 3}));
    }
  });
}

TEST_P(MessagesTest, SendRecvPairsUpWithSendAndRecv) {
  WithCommunicators([](Communicator& comm) {
    if (comm.size() < 2 || comm.rank() > 1) return;
    std::vector<int32_t> got(2);
    if (comm.rank() == 0) {
      EXPECT_TRUE(comm.Send(std::vector<int32_t>{1, 2}, 1).ok());
      EXPECT_TRUE(comm.Recv(got, 1).ok());
    } else {
      EXPECT_TRUE(comm.SendRecv(std::vector<int32_t>{3, 4}, 0, got, 0).ok());
    }
    EXPECT_THAT(got,
                comm.rank() == 0 ? ::testing::ElementsAre(3, 4) : ::testing::ElementsAre(1, 2));
  });
}

INSTANTIATE_TEST_SUITE_P(All, MessagesTest, ::testing::ValuesIn(Layouts()), NameOfLayoutParam);

TEST(MessageOrderTest, ArriveInOrderAndBetweenTheRightRanks) {
  FakeJob job(FakeJob::OnNodes({0, 0, 0}));
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    constexpr int kMessages = 20;
    for (int i = 0; rank == 0 && i < kMessages; ++i) {
      const std::vector<int32_t> to_1 = {i}, to_2 = {100 + i, i};
      ASSERT_TRUE((*comm)->Send(Const(to_1), 1).ok());
      ASSERT_TRUE((*comm)->Send(Const(to_2), 2).ok());
    }
    for (int i = 0; rank != 0 && i < kMessages; ++i) {
      std::vector<int32_t> got(rank);
      ASSERT_TRUE((*comm)->Recv(absl::MakeSpan(got), 0).ok());
      EXPECT_EQ(got[0], rank == 1 ? i : 100 + i);
    }
  });
}

}  // namespace
}  // namespace muster
