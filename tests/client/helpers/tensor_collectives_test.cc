// Tests of collectives of tensors and numbers over Gloo, with threads as ranks.
// tensor_processes_test.cc has the tests that kill processes.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/scopes.h"
#include "muster/toolkits.h"
#include "tests/client/daemon/jobs.h"

namespace muster::testing {
namespace {

using toolkits::AllGather;
using toolkits::AllReduce;
using toolkits::AverageAcrossProcesses;

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Up to four ranks, two on each node.
class TensorCollectivesTest : public ::testing::TestWithParam<int> {
 protected:
  int Last() const { return GetParam() - 1; }

  Jobs jobs_{GetParam(), {}, [](int index, JobOptions* options) {
               options->node_id = index < 2 ? "a" : "b";
             }};
};

class SeveralRanksTest : public TensorCollectivesTest {};

template <class T>
std::vector<T> Elements(const TensorView& tensor) {
  const auto elements = tensor.As<T>();
  EXPECT_TRUE(elements.ok()) << elements.status();
  return elements.ok() ? std::vector<T>(elements->begin(), elements->end()) : std::vector<T>();
}

TEST_P(TensorCollectivesTest, AllReduceChangesTensorsInPlace) {
  const int n = GetParam();
  jobs_.Run([&](int rank, Job& job) {
    std::vector<float> data = {1.0f * rank, 1};
    EXPECT_TRUE(AllReduce(job, absl::MakeSpan(data)).ok());
    EXPECT_THAT(data, ElementsAre(n * (n - 1) / 2, n));
    std::vector<int32_t> most = {rank, -rank};
    EXPECT_TRUE(AllReduce(job, absl::MakeSpan(most), ReduceOp::kMax).ok());
    EXPECT_THAT(most, ElementsAre(n - 1, 0));
    std::vector<double> matrix(6, rank + 1);
    EXPECT_TRUE(
        AllReduce(job, MutableViewOf(absl::MakeSpan(matrix), {2, 3}), ReduceOp::kAverage).ok());
    EXPECT_THAT(matrix, Each((n + 1) / 2.0));
    std::vector<uint16_t> bits = {static_cast<uint16_t>(1 << rank)};
    EXPECT_TRUE(AllReduce(job, absl::MakeSpan(bits), ReduceOp::kBitwiseOr).ok());
    EXPECT_THAT(bits, ElementsAre((1 << n) - 1));
    EXPECT_TRUE(AllReduce(job, absl::Span<float>()).ok());
  });
}

TEST_P(TensorCollectivesTest, AllReduceFoldsNumbers) {
  const int n = GetParam();
  jobs_.Run([&](int rank, Job& job) {
    EXPECT_EQ(*AllReduce(job, rank + 1), n * (n + 1) / 2);
    EXPECT_EQ(*AllReduce(job, rank + 0.5, ReduceOp::kMin), 0.5);
    EXPECT_EQ(*AllReduce(job, int64_t{2}, ReduceOp::kProduct), 1 << n);
    EXPECT_EQ(*AllReduce(job, rank, ReduceOp::kAverage), (n - 1) / 2);
    EXPECT_EQ(*AllReduce(job, rank == 0, ReduceOp::kBitwiseOr), true);
    EXPECT_EQ(*AllReduce(job, rank > 0, ReduceOp::kBitwiseAnd), false);
    EXPECT_EQ(*AllReduce(job, std::numeric_limits<uint8_t>::max()), static_cast<uint8_t>(255 * n));
  });
}

TEST_P(TensorCollectivesTest, AllGatherStacksTheTensorsOfAllRanks) {
  const int n = GetParam();
  jobs_.Run([&](int rank, Job& job) {
    const std::vector<int16_t> mine = {static_cast<int16_t>(rank), 7};
    const auto whole = AllGather(job, ViewOf(mine, {2, 1}));
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_THAT(whole->view.shape, ElementsAre(2 * n, 1));
    const auto elements = Elements<int16_t>(whole->view);
    ASSERT_EQ(elements.size(), 2u * n);
    for (int r = 0; r < n; ++r) EXPECT_EQ(elements[2 * r], r);

    const auto scalars = AllGather(job, ViewOf(absl::MakeConstSpan(&mine[0], 1), {}));
    ASSERT_TRUE(scalars.ok()) << scalars.status();
    EXPECT_THAT(scalars->view.shape, ElementsAre(n));

    const auto list = AllGather(job, absl::MakeConstSpan(mine));
    ASSERT_TRUE(list.ok()) << list.status();
    EXPECT_EQ(*list, elements);

    std::vector<int16_t> all(2 * n);
    EXPECT_TRUE(AllGather(job, ViewOf(mine), MutableViewOf(all)).ok());
    EXPECT_EQ(all, elements);
  });
}

TEST_P(TensorCollectivesTest, AveragesOfOneAndOfADictionary) {
  const double mean = (GetParam() - 1) / 2.0;
  jobs_.Run([&](int rank, Job& job) {
    std::vector<double> one = {1.0 * rank};
    EXPECT_TRUE(AverageAcrossProcesses(job, absl::MakeSpan(one)).ok());
    EXPECT_THAT(one, ElementsAre(mean));
    std::map<std::string, double> losses = {{"train", rank}, {"test", 2 * rank}};
    EXPECT_TRUE(AverageAcrossProcesses(job, &losses).ok());
    EXPECT_EQ(losses, (std::map<std::string, double>{{"train", mean}, {"test", 2 * mean}}));
    std::map<std::string, std::vector<float>> vectors = {{"w", {1.0f * rank, 4}}, {"b", {}}};
    EXPECT_TRUE(AverageAcrossProcesses(job, &vectors).ok());
    EXPECT_THAT(vectors["w"], ElementsAre(mean, 4));
    std::map<std::string, absl::Span<float>> spans = {{"w", absl::MakeSpan(vectors["w"])}};
    EXPECT_TRUE(AverageAcrossProcesses(job, &spans).ok());
    std::vector<int32_t> counts = {2 * rank + 1};
    std::map<std::string, MutableTensorView> mixed = {{"loss", MutableViewOf(one)},
                                                      {"counts", MutableViewOf(counts)}};
    EXPECT_TRUE(AverageAcrossProcesses(job, &mixed).ok());
    EXPECT_THAT(counts, ElementsAre(GetParam()));
  });
}

TEST_P(SeveralRanksTest, DifferencesAreRefusedWithTheRanksThatDiffer) {
  const std::string others =
      Last() == 1 ? "rank 0 passes" : absl::StrCat("ranks 0-", Last() - 1, " pass");
  const std::string last = absl::StrCat("rank ", Last(), " passes");
  const auto expect_refused = [](const absl::Status& status, const std::string& text) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr(text));
  };
  jobs_.Run([&](int rank, Job& job) {
    const bool differs = rank == Last();
    std::vector<float> data(differs ? 4 : 6, 1);
    expect_refused(AllReduce(job, absl::MakeSpan(data)),
                   absl::StrCat("AllReduce: the ranks pass different arguments: ", others,
                                " float32 [6] (sum), ", last, " float32 [4] (sum)"));
    EXPECT_THAT(data, Each(1));
    expect_refused(AllReduce(job, rank, differs ? ReduceOp::kMax : ReduceOp::kSum).status(),
                   absl::StrCat(last, " a number of type int32 (max)"));
    expect_refused(AllGather(job, absl::MakeConstSpan(data)).status(),
                   absl::StrCat(others, " float32 [6], ", last, " float32 [4]"));
    std::map<std::string, std::vector<float>> tensors = {{"w", {1}}, {differs ? "c" : "b", {1}}};
    expect_refused(AverageAcrossProcesses(job, &tensors),
                   absl::StrCat("'b': ", others, " float32 [1], ", last, " nothing; 'c': "));
    // The job still works.
    EXPECT_EQ(*AllReduce(job, 1), GetParam());
    std::vector<float> again = {1};
    EXPECT_TRUE(AllReduce(job, absl::MakeSpan(again)).ok());
    EXPECT_THAT(again, ElementsAre(GetParam()));
  });
}

TEST_P(TensorCollectivesTest, AMalformedArgumentIsRefusedOnAllRanksWithItsRank) {
  jobs_.Run([&](int rank, Job& job) {
    std::vector<float> data(6, 1);
    const std::vector<int64_t> shape = {rank == Last() ? 4 : 6};
    const absl::Status status = AllReduce(job, MutableViewOf(absl::MakeSpan(data), shape));
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    const std::string name = Last() == 0 ? "" : absl::StrCat("rank ", Last(), " (node ");
    EXPECT_THAT(Message(status),
                AllOf(StartsWith(name), HasSubstr("float32 [4] cannot have 24 bytes")));
    const absl::Status unknown = AllReduce(job, 1, static_cast<ReduceOp>(99)).status();
    EXPECT_TRUE(absl::IsInvalidArgument(unknown)) << unknown;
    EXPECT_THAT(Message(unknown), EndsWith("sum, product, min, max, average, bitwise and, bitwise "
                                           "or"));
    std::vector<float> all(6 * GetParam() + 1);
    EXPECT_TRUE(absl::IsInvalidArgument(AllGather(job, ViewOf(data), MutableViewOf(all))));
  });
}

// Gloo moves elements of this type, but has no arithmetic for it.
TEST_P(SeveralRanksTest, AnUnsupportedTypeIsRefusedBeforeAnyChange) {
  jobs_.Run([](int rank, Job& job) {
    std::vector<float> wide = {1.0f * rank};
    uint16_t half = 0x3c00;
    std::map<std::string, MutableTensorView> tensors = {
        {"half", {DataType::kFloat16, {1}, &half, sizeof(half)}}, {"wide", MutableViewOf(wide)}};
    const absl::Status status = AverageAcrossProcesses(job, &tensors);
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("Gloo has no arithmetic on float16"));
    EXPECT_THAT(wide, ElementsAre(rank));
    EXPECT_TRUE(AllGather(job, tensors["half"]).ok());
  });
}

TEST_P(TensorCollectivesTest, InAScopeEveryCallGivesTheCallersOwnValue) {
  const int n = GetParam();
  jobs_.Run([&](int rank, Job& job) {
    std::vector<float> data = {1, 2};
    for (int round = 0; round < 2; ++round) {  // before and after the ranks are connected
      if (MainScope main{job}) {
        EXPECT_EQ(*AllReduce(job, 5), 5);
        EXPECT_TRUE(AllReduce(job, absl::MakeSpan(data)).ok());
        EXPECT_TRUE(AverageAcrossProcesses(job, absl::MakeSpan(data)).ok());
        EXPECT_THAT(data, ElementsAre(1, 2));
        EXPECT_THAT(AllGather(job, ViewOf(data, {1, 2}))->view.shape, ElementsAre(1, 2));
        EXPECT_EQ(*AllGather(job, absl::MakeSpan(data)), data);
        std::vector<float> all(2 * n, -1);
        EXPECT_TRUE(AllGather(job, ViewOf(data), MutableViewOf(all)).ok());
        EXPECT_EQ(all[1], 2);
        EXPECT_EQ(all[2 * n - 1], n == 1 ? 2 : -1);
      }
      EXPECT_EQ(AllGather(job, absl::MakeSpan(data))->size(), 2u * n);
    }
  });
}

TEST(ManyDifferencesTest, AreDescribedInPart) {
  Jobs jobs(6);
  jobs.Run([](int rank, Job& job) {
    std::map<std::string, std::vector<float>> tensors;
    for (const char* name : {"a", "b", "c", "d", "e"}) tensors[name].resize(rank);
    const absl::Status status = AverageAcrossProcesses(job, &tensors);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(Message(status),
                AllOf(HasSubstr("rank 3 passes float32 [3], 2 others differ again; 'b': "),
                      EndsWith("; 2 more differ")));
  });
}

INSTANTIATE_TEST_SUITE_P(WorldSizes, TensorCollectivesTest, ::testing::Values(1, 2, 4));
INSTANTIATE_TEST_SUITE_P(WorldSizes, SeveralRanksTest, ::testing::Values(2, 4));

TEST(SerialTensorCollectivesTest, GiveTheCallersOwnValue) {
  const auto job = Job::Join(JobOptions());
  ASSERT_TRUE(job.ok());
  std::vector<float> data = {1, 2};
  std::map<std::string, double> losses = {{"a", 3}};
  EXPECT_TRUE(AllReduce(**job, absl::MakeSpan(data), ReduceOp::kProduct).ok());
  EXPECT_TRUE(AverageAcrossProcesses(**job, absl::MakeSpan(data)).ok());
  EXPECT_TRUE(AverageAcrossProcesses(**job, &losses).ok());
  EXPECT_THAT(data, ElementsAre(1, 2));
  EXPECT_EQ(losses["a"], 3);
  EXPECT_EQ(*AllReduce(**job, 4, ReduceOp::kAverage), 4);
  EXPECT_EQ(*AllGather(**job, absl::MakeSpan(data)), data);
}

TEST(TensorCollectivesFailureTest, AfterAnErrorOfOneRankTheNextCallConnectsAgain) {
  Jobs jobs(2);
  std::atomic<bool> failed{false};
  // Repeats the round if the canceller did not get to run during the call.
  for (int round = 0; !failed && round < 50; ++round) {
    const size_t size = size_t{1} << std::min(22 + round, 25);
    jobs.Run([&](int rank, Job& job) {
      std::vector<float> data(size, 1);
      Cancellation cancellation;
      CallOptions options;
      options.cancellation = rank == 1 ? &cancellation : nullptr;
      std::atomic<bool> ended{false};
      std::thread canceller([&] {  // as soon as a result has arrived
        const volatile float& seen = data[size / 2];
        while (rank == 1 && seen == 1 && !ended) std::this_thread::yield();
        cancellation.Cancel();
      });
      const absl::Status status = AllReduce(job, absl::MakeSpan(data), ReduceOp::kSum, options);
      ended = true;
      canceller.join();
      if (!status.ok()) failed = true;
      EXPECT_TRUE(status.ok() || rank == 0 || absl::IsCancelled(status)) << status;
      std::vector<float> next = {1};
      const absl::Status again = AllReduce(job, absl::MakeSpan(next));
      EXPECT_TRUE(again.ok()) << again;
      EXPECT_THAT(next, ElementsAre(2));
    });
  }
  EXPECT_TRUE(failed) << "no call was cancelled in time";
}

TEST(TensorCollectivesFailureTest, TheNextEpochHasACommunicatorOfItsOwn) {
  Jobs jobs(3, {"--min-world-size=2", "--settle=3s", "--member-grace=100ms"});
  const auto count = [](Job& job) {
    std::vector<int> ones = {1};
    const absl::Status status = AllReduce(job, absl::MakeSpan(ones));
    return status.ok() ? absl::StatusOr<int>(ones[0]) : status;
  };
  for (const auto& sum : jobs.OnAll(count)) EXPECT_EQ(sum.value_or(-1), 3) << sum.status();
  jobs.Destroy(2);
  std::thread other([&] {
    EXPECT_TRUE(absl::IsAborted(count(jobs[1]).status()));
    EXPECT_TRUE(jobs[1].Rejoin().ok());
    EXPECT_EQ(count(jobs[1]).value_or(-1), 2);
  });
  const absl::Status lost = count(jobs[0]).status();
  EXPECT_TRUE(absl::IsAborted(lost)) << lost;
  EXPECT_THAT(Message(lost), HasSubstr("rank 2"));
  EXPECT_TRUE(jobs[0].Rejoin().ok());
  EXPECT_EQ(count(jobs[0]).value_or(-1), 2);
  other.join();
}

// The first call cannot end before rank 1 arrives.
TEST(TensorCollectivesFailureTest, ASecondThreadIsRefusedAtOnce) {
  Jobs jobs(2);
  absl::Notification refused;
  const auto reduce = [&] {
    std::vector<float> data = {1};
    const absl::Status status = AllReduce(jobs[0], absl::MakeSpan(data));
    if (status.ok()) return;
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(Message(status), HasSubstr("another thread is in a helper that moves tensors"));
    refused.Notify();
  };
  std::thread one(reduce);
  std::thread other(reduce);
  EXPECT_TRUE(refused.WaitForNotificationWithTimeout(absl::Seconds(30)));
  std::vector<float> data = {1};
  EXPECT_TRUE(AllReduce(jobs[1], absl::MakeSpan(data)).ok());
  one.join();
  other.join();
}

}  // namespace
}  // namespace muster::testing
