// Tests of how operations end if they cannot complete, on one node and on several.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "muster/error_facts.h"
#include "tests/client/gloo/communicators.h"
#include "tests/util/fakes/fake_job.h"

namespace muster {
namespace {

using ::muster::testing::FakeJob;
using ::muster::testing::Layout;
using ::muster::testing::NameOfLayout;
using ::muster::testing::SharesMemory;
using ::testing::AllOf;
using ::testing::Contains;
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

// Returns "rank 1 (node 'node-0', pid 1001)".
std::string NameOf(int rank, const Layout& layout) {
  return absl::StrCat("rank ", rank, " (node 'node-", layout[rank], "', pid ", 1000 + rank, ")");
}

// Every operation, called so that rank 0 blocks if rank 1 takes no part.
struct NamedCall {
  std::string name;
  std::function<absl::Status(Communicator&, const CallOptions&)> call;
  bool of_all = true;  // false: only ranks 0 and 1 take part
};

// One node, one rank on each node, and two nodes with rank 1 on rank 0's node or not.
const Layout kLayouts[] = {{0, 0}, {0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 0}};

std::string NameOfCase(const std::tuple<NamedCall, Layout>& test_case) {
  return absl::StrCat(std::get<0>(test_case).name, NameOfLayout(std::get<1>(test_case)));
}

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
     [](Communicator& comm, const CallOptions& options) { return comm.Send(In(), 1, options); },
     false},
    {"Recv",
     [](Communicator& comm, const CallOptions& options) {
       return comm.Recv(absl::MakeSpan(Data()), 1, options);
     },
     false},
    // More than nodes exchange at once.
    {"AllReduceOfMuch",
     [](Communicator& comm, const CallOptions& options) {
       std::vector<float> data(100'000);
       return comm.AllReduce(absl::MakeSpan(data), ReduceOp::kSum, options);
     }},
    {"BroadcastOfMuch",
     [](Communicator& comm, const CallOptions& options) {
       std::vector<float> data(100'000);
       return comm.Broadcast(absl::MakeSpan(data), 1, options);
     }},
    {"Barrier",
     [](Communicator& comm, const CallOptions& options) { return comm.Barrier(options); }},
};

class BlockedCallTest : public ::testing::TestWithParam<std::tuple<NamedCall, Layout>> {
 protected:
  static const NamedCall& operation() { return std::get<0>(GetParam()); }
  static const Layout& layout() { return std::get<1>(GetParam()); }
  // Returns the operation's name as errors show it.
  static std::string name() { return operation().name.substr(0, operation().name.find("Of")); }

  // Over connections alone, a broadcast from rank 1 reaches the last of four ranks through rank 2,
  // which itself waits for rank 1.
  static int AwaitedByRank0() {
    return !SharesMemory() && name() == "Broadcast" && layout().size() == 4 ? 2 : 1;
  }

  // Runs `call` on rank 0. When rank 0 is about to call, rank 1 runs `meanwhile` instead, and keeps
  // its communicator until rank 0 has finished. The other ranks have as much time as they need.
  void BlockRank0(const std::function<absl::Status(Communicator&)>& call,
                  const std::function<void()>& meanwhile) {
    absl::BlockingCounter created(job_.size());
    absl::Notification ready, done;
    job_.Run([&](int rank, const Group& world) {
      const std::unique_ptr<Communicator> comm = MustCreate(world);
      created.DecrementCount();
      if (rank == 0) {
        created.Wait();
        ready.Notify();
        first_ = call(*comm);
        second_ = comm->Barrier();
        done.Notify();
      } else if (rank == 1) {
        ready.WaitForNotification();
        meanwhile();
        done.WaitForNotification();
      } else if (operation().of_all) {
        EXPECT_FALSE(operation().call(*comm, {}).ok());
      } else {
        done.WaitForNotification();
      }
    });
  }

  FakeJob job_{FakeJob::OnNodes(layout())};
  absl::Status first_;   // of the blocked call
  absl::Status second_;  // of the call after it
};

TEST_P(BlockedCallTest, EndsWithTheLossOfAMember) {
  BlockRank0([](Communicator& comm) { return operation().call(comm, {}); }, [&] { job_.Lose(1); });
  EXPECT_EQ(first_, FakeJob::LossOf(1));
  EXPECT_EQ(second_, FakeJob::LossOf(1));
}

// Ranks other than 0 and 1 need time to do their part. Otherwise the error would name them too.
TEST_P(BlockedCallTest, EndsAtItsTimeout) {
  const absl::Duration timeout = absl::Milliseconds(layout().size() > 2 ? 500 : 50);
  BlockRank0([&](Communicator& comm) { return operation().call(comm, Within(timeout)); }, [] {});
  EXPECT_EQ(first_.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(
      Message(first_),
      AllOf(HasSubstr(name()), HasSubstr("did not end within " + absl::FormatDuration(timeout)),
            HasSubstr("waiting for "), HasSubstr(NameOf(AwaitedByRank0(), layout()))));
  EXPECT_THAT(FactsOf(first_).missing_ranks, Contains(AwaitedByRank0()));
  EXPECT_EQ(second_, first_);
}

TEST_P(BlockedCallTest, EndsWhenItIsCancelled) {
  Cancellation cancellation;
  CallOptions options;
  options.cancellation = &cancellation;
  BlockRank0([&](Communicator& comm) { return operation().call(comm, options); },
             [&] { cancellation.Cancel(); });
  EXPECT_EQ(first_.code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(Message(first_), AllOf(HasSubstr(name()), HasSubstr("was cancelled")));
  EXPECT_EQ(second_, first_);
}

INSTANTIATE_TEST_SUITE_P(All, BlockedCallTest,
                         ::testing::Combine(::testing::ValuesIn(kCalls),
                                            ::testing::ValuesIn(kLayouts)),
                         [](const auto& info) { return NameOfCase(info.param); });

// The rank with the shorter time-out gives up first, and its end notice reaches the other rank.
void CheckDifferentSizes(const Layout& layout) {
  FakeJob job(FakeJob::OnNodes(layout));
  job.Run([&](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    std::vector<float> data(layout[rank] == layout[0] && rank != 1 ? 10 : 12);
    const absl::Status status =
        comm->AllReduce(absl::MakeSpan(data), ReduceOp::kSum,
                        Within(rank == 0 ? absl::Milliseconds(200) : absl::Seconds(60)));
    if (rank == 0) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      EXPECT_THAT(Message(status), AllOf(HasSubstr("AllReduce of 10 float32 (sum), collective 1"),
                                         HasSubstr("the same sizes")));
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(Message(status),
                  AllOf(HasSubstr(absl::StrCat("AllReduce of ", data.size(),
                                               " float32 (sum), collective 1")),
                        HasSubstr(NameOf(0, layout)), HasSubstr("AllReduce of 10 float32 (sum)")));
    }
  });
}

TEST(DisagreementTest, SizesThatDifferAreNamedOnBothSides) {
  for (const Layout& layout : kLayouts) CheckDifferentSizes(layout);
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

void CheckDepartedPeerIsNamed(const Layout& layout) {
  FakeJob job(FakeJob::OnNodes(layout));
  job.Run([&](int rank, const Group& world) {
    const auto comm = MustCreate(world);
    ASSERT_NE(comm, nullptr);
    ASSERT_TRUE(comm->Barrier().ok());
    if (rank == 1) return;
    const absl::Status status = comm->Barrier();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(Message(status), absl::StrCat("Barrier, collective 2: ", NameOf(1, layout),
                                            " is no longer there: it destroyed its communicator"));
    EXPECT_EQ(FactsOf(status).rank, 1);
  });
}

TEST(EndTest, APeerThatDestroyedItsCommunicatorIsNamed) {
  for (const Layout& layout : kLayouts) CheckDepartedPeerIsNamed(layout);
}

// A rank that ends because of another rank passes on which rank failed first.
void CheckFirstToEndIsNamed(const Layout& layout) {
  FakeJob job(FakeJob::OnNodes(layout));
  job.Run([&](int rank, const Group& world) {
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
      EXPECT_THAT(Message(status), AllOf(HasSubstr(NameOf(2, layout)), HasSubstr("was cancelled")));
    }
  });
}

TEST(EndTest, TheFirstToEndIsNamedOnEveryRank) {
  for (const Layout& layout : std::vector<Layout>{
           {0, 0, 0, 0}, {0, 1, 2, 3}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 1}, {0, 0, 0, 1}}) {
    CheckFirstToEndIsNamed(layout);
  }
}

// Cancels rank 0 when its barrier has completed on rank 1, so that the cancellation races with the
// end of the call.
void CancelAsABarrierEnds() {
  FakeJob job(FakeJob::OnNodes({0, 0}));
  absl::Notification cancelling, passed;
  Cancellation cancellation;
  // This callback runs before the barrier's own, and delays it.
  cancellation.Add([&] {
    cancelling.Notify();
    passed.WaitForNotification();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  });
  std::thread canceller([&] {
    // A number is skipped once the barrier has added its own callback.
    for (int64_t next = 1;; ++next) {
      const int64_t number = cancellation.Add([] {});
      cancellation.Remove(number);  // otherwise a slow machine gathers millions of them
      if (number != next) break;
      std::this_thread::yield();  // the barrier needs the same lock
    }
    cancellation.Cancel();
  });
  job.Run([&](int rank, const Group& world) {
    const std::unique_ptr<Communicator> comm = MustCreate(world);
    if (rank == 1) {
      cancelling.WaitForNotification();
      EXPECT_TRUE(comm->Barrier().ok());
      passed.Notify();
    } else {
      CallOptions options;
      options.cancellation = &cancellation;
      const absl::Status first = comm->Barrier(options);
      EXPECT_EQ(first.code(), absl::StatusCode::kCancelled);
      EXPECT_THAT(Message(first), HasSubstr("Barrier, collective 1 was cancelled"));
      EXPECT_EQ(comm->Barrier(), first);
    }
  });
  canceller.join();
}

TEST(EndTest, ALateCancellationAffectsNoLaterCall) {
  for (int round = 0; round < 5; ++round) CancelAsABarrierEnds();
}

TEST(EndTest, ACallThatWaitsForStartedOperationsCanBeCancelled) {
  FakeJob job(2);
  job.Run([&](int rank, const Group& world) {
    const std::unique_ptr<Communicator> comm = MustCreate(world);
    if (rank == 1) return;
    Cancellation cancellation;
    absl::Notification go_on;
    const PendingOperation started = comm->Start([&](Communicator&) {
      cancellation.Cancel();
      go_on.WaitForNotification();
      return absl::OkStatus();
    });
    CallOptions options = Within(absl::Seconds(10));
    options.cancellation = &cancellation;
    const absl::Status status = comm->Barrier(options);
    EXPECT_EQ(status, absl::CancelledError("Barrier on rank 0 of 2 was cancelled while it waited "
                                           "for what Start() had begun before"));
    go_on.Notify();
    EXPECT_TRUE(started.Wait().ok());
    EXPECT_EQ(comm->Barrier(), status);
  });
}

TEST(EndTest, AnOperationWithoutElementsCanBeCancelledToo) {
  for (const Layout& layout : std::vector<Layout>{{0, 0}, {0, 1}}) {
    FakeJob job(FakeJob::OnNodes(layout));
    job.Run([&](int, const Group& world) {
      const auto comm = MustCreate(world);
      ASSERT_NE(comm, nullptr);
      std::vector<float> none;
      EXPECT_TRUE(comm->AllReduce(none).ok());
      Cancellation cancellation;
      cancellation.Cancel();
      CallOptions options;
      options.cancellation = &cancellation;
      const absl::Status status = comm->AllReduce(none, ReduceOp::kSum, options);
      EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    });
  }
}

TEST(EndTest, ARankMayFinishWhileOthersContinue) {
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
