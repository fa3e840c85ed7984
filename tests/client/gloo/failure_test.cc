// How operations end when they cannot complete.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/util/fake_job.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

std::unique_ptr<Communicator> MustCreate(const Group& world) {
  auto comm = Communicator::Create(world);
  EXPECT_TRUE(comm.ok()) << comm.status();
  return comm.ok() ? *std::move(comm) : nullptr;
}

CallOptions Within(absl::Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

// Every operation, such that rank 0 blocks when rank 1 does not take part.
struct NamedCall {
  std::string name;
  std::function<absl::Status(Communicator&, const CallOptions&)> call;
};

std::ostream& operator<<(std::ostream& out, const NamedCall& call) { return out << call.name; }

std::vector<float>& Data() {
  static thread_local std::vector<float> data(1000);
  return data;
}
absl::Span<const float> In() { return Data(); }

const NamedCall kCalls[] = {
    {"AllReduce",
     [](Communicator& comm, const CallOptions& options) {
       return comm.AllReduce(absl::MakeSpan(Data()), ReduceOp::kSum, options);
     }},
    {"Broadcast",
     [](Communicator& comm, const CallOptions& options) {
       return comm.Broadcast(absl::MakeSpan(Data()), 1, options);
     }},
    {"Reduce",
     [](Communicator& comm, const CallOptions& options) {
       std::vector<float> out(1000);
       return comm.Reduce(In(), absl::MakeSpan(out), ReduceOp::kSum, 0, options);
     }},
    {"AllGather",
     [](Communicator& comm, const CallOptions& options) {
       std::vector<float> out(1000 * comm.size());
       return comm.AllGather(In(), absl::MakeSpan(out), options);
     }},
    {"ReduceScatter",
     [](Communicator& comm, const CallOptions& options) {
       std::vector<float> in(1000 * comm.size());
       return comm.ReduceScatter(absl::Span<const float>(in), absl::MakeSpan(Data()),
                                 ReduceOp::kSum, options);
     }},
    {"Send",
     [](Communicator& comm, const CallOptions& options) { return comm.Send(In(), 1, options); }},
    {"Recv",
     [](Communicator& comm, const CallOptions& options) {
       return comm.Recv(absl::MakeSpan(Data()), 1, options);
     }},
    {"Barrier",
     [](Communicator& comm, const CallOptions& options) { return comm.Barrier(options); }},
};

class BlockedCallTest : public ::testing::TestWithParam<NamedCall> {
 protected:
  // Rank 0 calls; rank 1 does `meanwhile` instead when rank 0 is about to call, and keeps its
  // communicator until rank 0 is done.
  void BlockRank0(const std::function<absl::Status(Communicator&)>& call,
                  const std::function<void()>& meanwhile) {
    absl::Notification ready, done;
    job_.Run([&](int rank, const Group& world) {
      const std::unique_ptr<Communicator> comm = MustCreate(world);
      if (rank == 0) {
        ready.Notify();
        first_ = call(*comm);
        second_ = comm->Barrier();
        done.Notify();
      } else {
        ready.WaitForNotification();
        meanwhile();
        done.WaitForNotification();
      }
    });
  }

  FakeJob job_{2};
  absl::Status first_;   // of the blocked call
  absl::Status second_;  // of the one after it
};

TEST_P(BlockedCallTest, EndsWithTheLossOfAMember) {
  BlockRank0([](Communicator& comm) { return GetParam().call(comm, {}); }, [&] { job_.Lose(1); });
  EXPECT_EQ(first_, FakeJob::LossOf(1));
  EXPECT_EQ(second_, FakeJob::LossOf(1));
}

TEST_P(BlockedCallTest, EndsAtItsTimeout) {
  BlockRank0(
      [](Communicator& comm) { return GetParam().call(comm, Within(absl::Milliseconds(50))); },
      [] {});
  EXPECT_EQ(first_.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(first_),
              AllOf(HasSubstr(GetParam().name), HasSubstr("did not end within 50ms"),
                    HasSubstr("waiting for rank 1 (node 'node-1', pid 1001)")));
  EXPECT_EQ(second_, first_);
}

TEST_P(BlockedCallTest, EndsWhenItIsCancelled) {
  Cancellation cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  BlockRank0([&](Communicator& comm) { return GetParam().call(comm, options); },
             [&] { cancellation.Cancel(); });
  EXPECT_EQ(first_.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Message(first_), AllOf(HasSubstr(GetParam().name), HasSubstr("was cancelled")));
  EXPECT_EQ(second_, first_);
}

INSTANTIATE_TEST_SUITE_P(All, BlockedCallTest, ::testing::ValuesIn(kCalls),
                         [](const auto& info) { return info.param.name; });

// The rank with the shorter time-out gives up first, and its last words reach the other.
TEST(DisagreementTest, SizesThatDifferAreNamedOnBothSides) {
  FakeJob job(2);
  job.Run([](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    std::vector<float> data(rank == 0 ? 10 : 12);
    const absl::Status status =
        comm->AllReduce(absl::MakeSpan(data), ReduceOp::kSum,
                        Within(rank == 0 ? absl::Milliseconds(200) : absl::Seconds(60)));
    if (rank == 0) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(Message(status), AllOf(HasSubstr("AllReduce of 10 float32 (sum), collective 1"),
                                         HasSubstr("the same sizes")));
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(Message(status), AllOf(HasSubstr("AllReduce of 12 float32 (sum), collective 1"),
                                         HasSubstr("rank 0 (node 'node-0', pid 1000)"),
                                         HasSubstr("AllReduce of 10 float32 (sum)")));
    }
  });
}

TEST(DisagreementTest, AMessageThatIsTooLongForItsReceiverEndsNoProcess) {
  FakeJob job(2);
  job.Run([](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    std::vector<int32_t> data(rank == 0 ? 1000 : 10);
    const CallOptions options = Within(absl::Milliseconds(200));
    const absl::Status status = rank == 0 ? comm->Send(absl::Span<const int32_t>(data), 1, options)
                                          : comm->Recv(absl::MakeSpan(data), 0, options);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(Message(status), HasSubstr(rank == 0 ? "Send of 1000 int32" : "Recv of 10 int32"));
  });
}

TEST(EndTest, APeerThatDestroyedItsCommunicatorIsNamed) {
  FakeJob job(2);
  job.Run([](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    ASSERT_TRUE(comm->Barrier().ok());
    if (rank == 1) return;
    const absl::Status status = comm->Barrier();
    EXPECT_EQ(status, absl::UnavailableError(
                          "Barrier, collective 2: rank 1 (node 'node-1', pid 1001) is no longer "
                          "there: it destroyed its communicator"));
  });
}

// A rank that ends because of another one passes on whose fault it was.
TEST(EndTest, TheFirstToEndIsNamedOnEveryRank) {
  FakeJob job(4);
  job.Run([](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    ASSERT_TRUE(comm->Barrier().ok());
    Cancellation cancellation;
    CallOptions options;
    if (rank == 2) {
      cancellation.Cancel();
      options.cancellation = &cancellation;
    }
    const absl::Status status = comm->Barrier(options);
    if (rank == 2) {
      EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_THAT(Message(status),
                  AllOf(HasSubstr("rank 2 (node 'node-2', pid 1002)"), HasSubstr("was cancelled")));
    }
  });
}

TEST(EndTest, ARankThatIsDoneMayGoWhileOthersGoOn) {
  FakeJob job(3);
  absl::Notification gone;
  job.Run([&](int rank, const Group& world) {
    std::unique_ptr<Communicator> comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    ASSERT_TRUE(comm->Barrier().ok());
    std::vector<int32_t> data = {rank};
    if (rank == 0) {
      comm.reset();
      gone.Notify();
    } else if (rank == 1) {
      EXPECT_TRUE(comm->Recv(absl::MakeSpan(data), 2).ok());
      EXPECT_EQ(data[0], 2);
    } else {
      gone.WaitForNotification();
      EXPECT_TRUE(comm->Send(absl::Span<const int32_t>(data), 1).ok());
    }
  });
}

}  // namespace
}  // namespace muster
