// Tests every operation, element type, reduction and size against a plain computation.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "muster/communicator.h"
#include "tests/client/gloo/communicators.h"
#include "tests/util/fakes/fake_job.h"

namespace muster {

// A program's own half-precision type, which may be an argument of Communicator's templates.
struct Half {
  uint16_t bits;
};
template <>
constexpr DataType DataTypeOf<Half>() {
  return DataType::kFloat16;
}

namespace {

using ::muster::testing::CommunicatorsTest;
using ::muster::testing::Const;
using ::muster::testing::FakeJob;
using ::muster::testing::Layouts;
using ::muster::testing::NameOfLayoutParam;
using ::muster::testing::ValueOf;
using ::muster::testing::ValuesOf;

constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kAverage};
// No elements, fewer than ranks, odd numbers, and more floats than nodes exchange at once.
constexpr size_t kCounts[] = {0, 1, 2, 3, 7, 64, 1001, 35'011};
// Most types use these counts only, since the way of elements does not depend on their type.
constexpr size_t kFewCounts[] = {3, 1001};

template <class T>
T Combine(T a, T b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage:
      return static_cast<T>(a + b);
    case ReduceOp::kProduct:
      return static_cast<T>(a * b);
    case ReduceOp::kMin:
      return b < a ? b : a;
    case ReduceOp::kMax:
      return a < b ? b : a;
    case ReduceOp::kBitwiseAnd:
    case ReduceOp::kBitwiseOr:
      if constexpr (std::is_integral_v<T>) {
        return static_cast<T>(op == ReduceOp::kBitwiseAnd ? a & b : a | b);
      }
  }
  return a;
}

// Returns element `i` of the reduction over all ranks.
template <class T>
T Reduced(int ranks, size_t i, ReduceOp op) {
  T value = ValueOf<T>(0, i);
  for (int rank = 1; rank < ranks; ++rank) value = Combine(value, ValueOf<T>(rank, i), op);
  return op == ReduceOp::kAverage ? static_cast<T>(value / static_cast<T>(ranks)) : value;
}

// Returns `count` such elements, beginning with element `first`.
template <class T>
std::vector<T> AllReduced(int ranks, size_t count, ReduceOp op, size_t first = 0) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = Reduced<T>(ranks, first + i, op);
  return values;
}

class OperationsTest : public CommunicatorsTest {
 protected:
  template <class T>
  static void CheckReductions(Communicator& comm, size_t count, ReduceOp op) {
    const std::vector<T> own = ValuesOf<T>(comm.rank(), count);
    const std::vector<T> expected = AllReduced<T>(comm.size(), count, op);

    std::vector<T> data = own;
    EXPECT_TRUE(comm.AllReduce(absl::MakeSpan(data), op).ok());
    EXPECT_EQ(data, expected);

    std::vector<T> out(count);
    EXPECT_TRUE(comm.AllReduce(Const(own), absl::MakeSpan(out), op).ok());
    EXPECT_EQ(out, expected);

    const int root = static_cast<int>(count) % comm.size();
    std::vector<T> at_root(comm.rank() == root ? count : 0);
    EXPECT_TRUE(comm.Reduce(Const(own), absl::MakeSpan(at_root), op, root).ok());
    if (comm.rank() == root) {
      EXPECT_EQ(at_root, expected);
    }

    const std::vector<T> parts = ValuesOf<T>(comm.rank(), count * comm.size());
    std::vector<T> part(count);
    EXPECT_TRUE(comm.ReduceScatter(Const(parts), absl::MakeSpan(part), op).ok());
    EXPECT_EQ(part, AllReduced<T>(comm.size(), count, op, count * comm.rank()));
  }

  template <class T>
  static void CheckMoves(Communicator& comm, size_t count) {
    const std::vector<T> own = ValuesOf<T>(comm.rank(), count);
    const int root = static_cast<int>(count) % comm.size();
    std::vector<T> data = own;
    EXPECT_TRUE(comm.Broadcast(absl::MakeSpan(data), root).ok());
    EXPECT_EQ(data, ValuesOf<T>(root, count));

    std::vector<T> gathered(count * comm.size());
    EXPECT_TRUE(comm.AllGather(Const(own), absl::MakeSpan(gathered)).ok());
    std::vector<T> expected;
    for (int rank = 0; rank < comm.size(); ++rank) {
      const std::vector<T> theirs = ValuesOf<T>(rank, count);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    EXPECT_EQ(gathered, expected);
  }

  // Values go around the ring. Even ranks send first.
  template <class T>
  static void CheckMessages(Communicator& comm, size_t count) {
    if (comm.size() == 1) return;
    const int right = (comm.rank() + 1) % comm.size();
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    const std::vector<T> own = ValuesOf<T>(comm.rank(), count);
    std::vector<T> got(count);
    const bool sends_first = comm.rank() % 2 == 0;
    if (sends_first) {
      EXPECT_TRUE(comm.Send(Const(own), right).ok());
    }
    EXPECT_TRUE(comm.Recv(absl::MakeSpan(got), left).ok());
    if (!sends_first) {
      EXPECT_TRUE(comm.Send(Const(own), right).ok());
    }
    EXPECT_EQ(got, ValuesOf<T>(left, count));
  }

  template <class T>
  void CheckType(absl::Span<const size_t> counts = kFewCounts) {
    WithCommunicators([counts](Communicator& comm) {
      for (size_t count : counts) {
        for (ReduceOp op : kOps) CheckReductions<T>(comm, count, op);
        if constexpr (std::is_integral_v<T>) {
          CheckReductions<T>(comm, count, ReduceOp::kBitwiseAnd);
          CheckReductions<T>(comm, count, ReduceOp::kBitwiseOr);
        }
        CheckMoves<T>(comm, count);
        CheckMessages<T>(comm, count);
        EXPECT_TRUE(comm.Barrier().ok());
      }
    });
  }
};

TEST_P(OperationsTest, Float) { CheckType<float>(kCounts); }
TEST_P(OperationsTest, Double) { CheckType<double>(); }
TEST_P(OperationsTest, Int32) { CheckType<int32_t>(); }
TEST_P(OperationsTest, Int64) { CheckType<int64_t>(); }
TEST_P(OperationsTest, Uint8) { CheckType<uint8_t>(kCounts); }
TEST_P(OperationsTest, ManyUint8) { CheckType<uint8_t>({140'011}); }
TEST_P(OperationsTest, Int8) { CheckType<int8_t>(); }
TEST_P(OperationsTest, Int16) { CheckType<int16_t>(); }
TEST_P(OperationsTest, Uint16) { CheckType<uint16_t>(); }
TEST_P(OperationsTest, Uint32) { CheckType<uint32_t>(); }
TEST_P(OperationsTest, Uint64) { CheckType<uint64_t>(); }

TEST_P(OperationsTest, ManyBuffersAtOnce) {
  WithCommunicators([](Communicator& comm) {
    std::vector<std::vector<double>> buffers;
    std::vector<absl::Span<double>> spans;
    for (size_t count : kCounts) buffers.push_back(ValuesOf<double>(comm.rank(), count));
    for (std::vector<double>& buffer : buffers) spans.push_back(absl::MakeSpan(buffer));
    EXPECT_TRUE(comm.AllReduceCoalesced<double>(spans, ReduceOp::kMax).ok());
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i], AllReduced<double>(comm.size(), kCounts[i], ReduceOp::kMax));
    }
  });
}

// Small buffers travel together, and buffers of several MiB on their own.
TEST_P(OperationsTest, ManyBuffersOfManySizesAtOnce) {
  WithCommunicators([](Communicator& comm) {
    const std::vector<size_t> counts = {1, 300000, 0, 17, 1200000, 5, 700000, 700000, 3};
    std::vector<std::vector<float>> buffers;
    std::vector<absl::Span<float>> spans;
    for (size_t count : counts) buffers.push_back(ValuesOf<float>(comm.rank(), count));
    for (std::vector<float>& buffer : buffers) spans.push_back(absl::MakeSpan(buffer));
    EXPECT_TRUE(comm.AllReduceCoalesced<float>(spans).ok());
    for (size_t i = 0; i < buffers.size(); ++i) {
      EXPECT_EQ(buffers[i], AllReduced<float>(comm.size(), counts[i], ReduceOp::kSum)) << i;
    }
  });
}

TEST_P(OperationsTest, AllToAll) {
  WithCommunicators([](Communicator& comm) {
    for (size_t count : kCounts) {
      const std::vector<int16_t> in = ValuesOf<int16_t>(comm.rank(), count * comm.size());
      std::vector<int16_t> out(in.size());
      EXPECT_TRUE(comm.AllToAll(in, out).ok());
      for (int peer = 0; peer < comm.size(); ++peer) {
        const auto theirs = ValuesOf<int16_t>(peer, in.size());
        EXPECT_TRUE(std::equal(theirs.begin() + comm.rank() * count,
                               theirs.begin() + (comm.rank() + 1) * count,
                               out.begin() + peer * count));
      }
    }
  });
}

TEST_P(OperationsTest, AllGatherOfPartsOfDifferentSizes) {
  WithCommunicators([](Communicator& comm) {
    std::vector<size_t> counts;
    std::vector<double> expected;
    for (int rank = 0; rank < comm.size(); ++rank) {
      counts.push_back(rank == 1 ? 0 : 10'000 * rank + 3);
      const std::vector<double> theirs = ValuesOf<double>(rank, counts.back());
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    const std::vector<double> own = ValuesOf<double>(comm.rank(), counts[comm.rank()]);
    std::vector<double> out(expected.size());
    EXPECT_TRUE(comm.AllGather(own, counts, out).ok());
    EXPECT_EQ(out, expected);
    std::fill(out.begin(), out.end(), -1);
    const size_t begin = std::accumulate(counts.begin(), counts.begin() + comm.rank(), size_t{0});
    std::copy(own.begin(), own.end(), out.begin() + begin);
    const absl::Span<double> place = absl::MakeSpan(out).subspan(begin, own.size());
    EXPECT_TRUE(comm.AllGather(absl::Span<const double>(place), absl::MakeConstSpan(counts),
                               absl::MakeSpan(out))
                    .ok());
    EXPECT_EQ(out, expected) << "in place";
  });
}

// Calls each operation with types that are known only at run time.
TEST_P(OperationsTest, Views) {
  WithCommunicators([](Communicator& communicator) {
    TensorOperations& comm = communicator;  // the interface that NcclCommunicator has too
    const int n = comm.size();
    std::vector<int64_t> own = ValuesOf<int64_t>(comm.rank(), 6);
    std::vector<int64_t> out(6);
    const std::vector<int64_t> sum = AllReduced<int64_t>(n, 6, ReduceOp::kSum);
    EXPECT_TRUE(comm.AllReduce(ViewOf(own, {2, 3}), MutableViewOf(out)).ok());
    EXPECT_EQ(out, sum);
    EXPECT_TRUE(comm.Reduce(ViewOf(own), MutableViewOf(out), ReduceOp::kMax, n - 1).ok());
    EXPECT_EQ(out, comm.rank() == n - 1 ? AllReduced<int64_t>(n, 6, ReduceOp::kMax) : sum);
    EXPECT_TRUE(comm.Broadcast(MutableViewOf(out), n - 1).ok());
    EXPECT_EQ(out, AllReduced<int64_t>(n, 6, ReduceOp::kMax));
    std::vector<int64_t> all(6 * n), parts(6 * n);
    EXPECT_TRUE(comm.AllGather(ViewOf(own), MutableViewOf(all)).ok());
    EXPECT_EQ(all[6 * (n - 1) + 1], ValueOf<int64_t>(n - 1, 1));
    const std::vector<size_t> counts(n, 6);
    EXPECT_TRUE(comm.AllGather(ViewOf(own), counts, MutableViewOf(parts)).ok());
    EXPECT_EQ(all, parts);
    EXPECT_TRUE(comm.AllToAll(ViewOf(all), MutableViewOf(parts)).ok());
    EXPECT_EQ(parts[1], ValueOf<int64_t>(comm.rank(), 1));
    EXPECT_TRUE(comm.ReduceScatter(ViewOf(all), MutableViewOf(out)).ok());
    EXPECT_EQ(out[1], n * ValueOf<int64_t>(comm.rank(), 1));
    std::vector<float> floats(3, 1);
    const MutableTensorView mixed[] = {MutableViewOf(floats), MutableViewOf(own)};
    EXPECT_TRUE(comm.AllReduceCoalesced(mixed).ok());
    EXPECT_EQ(own, sum);
    EXPECT_EQ(floats, std::vector<float>(3, static_cast<float>(n)));
    if (n == 2) {
      const int peer = 1 - comm.rank();
      EXPECT_TRUE(
          (comm.rank() == 0 ? comm.Send(ViewOf(sum), peer) : comm.Recv(MutableViewOf(out), peer))
              .ok());
      EXPECT_TRUE(comm.SendRecv(ViewOf(sum), peer, MutableViewOf(out), peer).ok());
      EXPECT_EQ(out, sum);
    }
  });
}

TEST_P(OperationsTest, StartedOperationsOverlapAndStayInOrder) {
  WithCommunicators([](Communicator& comm) {
    constexpr int kBuckets = 10;
    std::vector<std::vector<double>> buckets(kBuckets, ValuesOf<double>(comm.rank(), 1001));
    std::vector<PendingOperation> pending;
    for (std::vector<double>& bucket : buckets) {
      pending.push_back(comm.Start([&bucket](Communicator& c) { return c.AllReduce(bucket); }));
    }
    EXPECT_TRUE(comm.Barrier().ok());
    for (const PendingOperation& one : pending) {
      EXPECT_TRUE(one.done());
      EXPECT_TRUE(one.Wait().ok());
    }
    const auto expected = AllReduced<double>(comm.size(), 1001, ReduceOp::kSum);
    for (const std::vector<double>& bucket : buckets) EXPECT_EQ(bucket, expected);
  });
}

TEST_P(OperationsTest, ManyElements) {
  WithCommunicators([](Communicator& comm) {
    const size_t count = 3 * (1 << 20) / sizeof(int32_t) + 17;
    CheckReductions<int32_t>(comm, count, ReduceOp::kSum);
    CheckMoves<int32_t>(comm, count);
    CheckMessages<int32_t>(comm, count);
  });
}

TEST_P(OperationsTest, InPlace) {
  WithCommunicators([](Communicator& comm) {
    const size_t count = 1001;
    std::vector<int64_t> gathered(count * comm.size());
    const absl::Span<int64_t> place = absl::MakeSpan(gathered).subspan(count * comm.rank(), count);
    const std::vector<int64_t> own = ValuesOf<int64_t>(comm.rank(), count);
    std::copy(own.begin(), own.end(), place.begin());
    EXPECT_TRUE(comm.AllGather(absl::Span<const int64_t>(place), absl::MakeSpan(gathered)).ok());
    for (int rank = 0; rank < comm.size(); ++rank) {
      EXPECT_EQ(gathered[count * rank + 5], ValueOf<int64_t>(rank, 5));
    }

    std::vector<int64_t> parts = ValuesOf<int64_t>(comm.rank(), count * comm.size());
    const absl::Span<int64_t> part = absl::MakeSpan(parts).subspan(count * comm.rank(), count);
    EXPECT_TRUE(comm.ReduceScatter(Const(parts), part).ok());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(part[i], Reduced<int64_t>(comm.size(), count * comm.rank() + i, ReduceOp::kSum));
    }

    std::vector<int64_t> data = own;
    EXPECT_TRUE(comm.Reduce(Const(data), absl::MakeSpan(data), ReduceOp::kMax, 0).ok());
    if (comm.rank() == 0) {
      EXPECT_EQ(data, AllReduced<int64_t>(comm.size(), count, ReduceOp::kMax));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, OperationsTest, ::testing::ValuesIn(Layouts()), NameOfLayoutParam);

TEST(IntegerReductionTest, SumsWrapAndAveragesAreRoundedTowardZero) {
  FakeJob job(FakeJob::OnNodes({0, 0}));
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    std::vector<int32_t> wide = {std::numeric_limits<int32_t>::max(), -3};
    std::vector<int32_t> average = {rank == 0 ? -3 : 0, rank == 0 ? 3 : 0};
    std::vector<uint8_t> narrow = {200};
    EXPECT_TRUE((*comm)->AllReduce(absl::MakeSpan(wide)).ok());
    EXPECT_TRUE((*comm)->AllReduce(absl::MakeSpan(average), ReduceOp::kAverage).ok());
    EXPECT_TRUE((*comm)->AllReduce(absl::MakeSpan(narrow)).ok());
    EXPECT_THAT(wide, ::testing::ElementsAre(-2, -6));
    EXPECT_THAT(average, ::testing::ElementsAre(-1, 1));
    EXPECT_THAT(narrow, ::testing::ElementsAre(144));
  });
}

// If ranks pass buffers of different sizes to a coalesced all-reduce, the buffers must not mix.
TEST(CoalescedTest, DifferentSizesOfTheSameSumEndAtTheTimeout) {
  FakeJob job(FakeJob::OnNodes({0, 0}));
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    std::vector<float> small(rank == 0 ? 1 : 2), large(rank == 0 ? 5 : 4);
    const absl::Span<float> buffers[] = {absl::MakeSpan(small), absl::MakeSpan(large)};
    CallOptions options;
    options.timeout = absl::Milliseconds(200);
    const absl::Status status =
        (*comm)->AllReduceCoalesced<float>(buffers, ReduceOp::kSum, options);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("AllReduce of 6 float32"));
  });
}

TEST(CoalescedTest, IsOnePass) {
  FakeJob job(FakeJob::OnNodes({0, 0}));
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    std::vector<std::vector<float>> buffers(50, std::vector<float>(10, 1));
    std::vector<absl::Span<float>> spans;
    for (std::vector<float>& buffer : buffers) spans.push_back(absl::MakeSpan(buffer));
    EXPECT_TRUE((*comm)->AllReduceCoalesced<float>(spans).ok());
    CallOptions cancelled;
    Cancellation cancellation;
    cancellation.Cancel();
    cancelled.cancellation = &cancellation;
    EXPECT_EQ((*comm)->Barrier(cancelled).message(), "Barrier, collective 2 was cancelled");
  });
}

TEST(HalfPrecisionTest, IsMovedAndNotReduced) {
  FakeJob job(FakeJob::OnNodes({0, 0}));
  job.Run([](int rank, const Group& world) {
    auto comm = Communicator::Create(world);
    ASSERT_TRUE(comm.ok()) << comm.status();
    std::vector<Half> data(3, Half{static_cast<uint16_t>(rank == 1 ? 0x3c00 : 0)});
    const absl::Status refused = (*comm)->AllReduce(absl::MakeSpan(data));
    EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("float16"));
    EXPECT_TRUE((*comm)->Broadcast(absl::MakeSpan(data), 1).ok());
    EXPECT_EQ(data[2].bits, 0x3c00);
  });
}

TEST(GroupsTest, OfSomeRanksInAnyOrder) {
  FakeJob job(FakeJob::OnNodes({0, 0, 0, 0}));
  job.Run([&](int rank, const Group&) {
    const std::vector<int> ranks = rank % 2 == 0 ? std::vector<int>{2, 0} : std::vector<int>{3, 1};
    const Group group = job.group(rank, rank % 2 == 0 ? "even" : "odd", ranks);
    auto comm = Communicator::Create(group);
    ASSERT_TRUE(comm.ok()) << comm.status();
    std::vector<int32_t> sum = {rank};
    ASSERT_TRUE((*comm)->AllReduce(absl::MakeSpan(sum)).ok());
    EXPECT_EQ(sum[0], rank % 2 == 0 ? 2 : 4);
    std::vector<int32_t> first = {rank};
    ASSERT_TRUE((*comm)->Broadcast(absl::MakeSpan(first), 0).ok());
    EXPECT_EQ(first[0], ranks[0]);
  });
}

}  // namespace
}  // namespace muster
