// The real NCCL's collectives on the CPU: values, over shared memory and over sockets, and what an
// abort or a lost peer leaves. Ranks are forked processes with a stand-in GPU each.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/fake/forked_ranks.h"

namespace muster::testing {
namespace {

constexpr size_t kCounts[] = {1, 3, 1000, 100'003, 1'500'000};

// Where the ranks of a job are.
struct Layout {
  std::string name;
  int ranks;
  int per_node;  // ranks that share a host
  std::string channels = "";
};

void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

void SetEnvironment(const Layout& layout, int rank) {
  setenv("NCCL_HOSTID", ("node" + std::to_string(rank / layout.per_node)).c_str(), 1);
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_PROTO", "Simple", 1);
  setenv("NCCL_CUMEM_ENABLE", "0", 1);
  setenv("NCCL_IB_DISABLE", "1", 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  if (!layout.channels.empty()) setenv("NCCL_MIN_NCHANNELS", layout.channels.c_str(), 1);
}

// Device memory with elements of one type.
template <class T>
class Buffer {
 public:
  explicit Buffer(size_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<size_t>(count, 1) * sizeof(T)),
              cudaSuccess);
  }
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) { Set(values); }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() { return data_; }

  void Set(const std::vector<T>& values) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }

  std::vector<T> Get() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  const size_t count_;
  T* data_ = nullptr;
};

// One rank of a job, with a device, a stream and a communicator.
class Rank {
 public:
  Rank(const Layout& layout, int rank, Board& board) : rank_(rank), size_(layout.ranks) {
    SetEnvironment(layout, rank);
    EXPECT_EQ(cudaSetDevice(rank % layout.per_node), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    if (rank == 0) {
      ncclUniqueId id;
      EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
      board.Put(0, id);
    }
    EXPECT_EQ(ncclCommInitRank(&comm_, size_, board.Get(0), rank), ncclSuccess);
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  int next() const { return (rank_ + 1) % size_; }
  int previous() const { return (rank_ + size_ - 1) % size_; }
  ncclComm_t comm() const { return comm_; }
  cudaStream_t stream() const { return stream_; }

  void Wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }
  bool Idle() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  void Destroy() { EXPECT_EQ(ncclCommDestroy(comm_), ncclSuccess); }
  void Abort() { EXPECT_EQ(ncclCommAbort(comm_), ncclSuccess); }

 private:
  const int rank_;
  const int size_;
  cudaStream_t stream_ = nullptr;
  ncclComm_t comm_ = nullptr;
};

// Runs `body` on all ranks and expects them all to end well.
void ForEachRank(const Layout& layout, const std::function<void(Rank&)>& body) {
  ExpectForked(layout.ranks, [&](int rank, Board& board) {
    Rank self(layout, rank, board);
    body(self);
    self.Destroy();
  });
}

// A rank's input: small integers, which sum up exactly.
template <class T = float>
std::vector<T> InputOf(int rank, size_t count, int modulus = 11) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>((i * 3 + rank * 5) % modulus);
  return values;
}

std::vector<float> SumOf(int size, size_t count) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> input = InputOf(rank, count);
    for (size_t i = 0; i < count; ++i) sum[i] += input[i];
  }
  return sum;
}

std::vector<float> Concatenated(int size, size_t count) {
  std::vector<float> all;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> input = InputOf(rank, count);
    all.insert(all.end(), input.begin(), input.end());
  }
  return all;
}

// Says where vectors differ, which may be long.
template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  const auto at = std::mismatch(got.begin(), got.end(), want.begin());
  if (at.first == got.end()) return;
  ADD_FAILURE() << what << ": element " << at.first - got.begin() << " of " << got.size() << " is "
                << static_cast<double>(*at.first) << ", not " << static_cast<double>(*at.second);
}

std::string Elements(size_t count) { return std::to_string(count) + " elements"; }

class NcclKernels : public ::testing::TestWithParam<Layout> {};

TEST_P(NcclKernels, AllReduce) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : kCounts) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> output(count);
      EXPECT_EQ(ncclAllReduce(input.data(), output.data(), count, ncclFloat, ncclSum, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclAllReduce(input.data(), input.data(), count, ncclFloat, ncclSum, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      rank.Wait();
      ExpectSame(output.Get(), SumOf(rank.size(), count), Elements(count));
      ExpectSame(input.Get(), SumOf(rank.size(), count), Elements(count) + " in place");
    }
  });
}

TEST_P(NcclKernels, BroadcastAndReduce) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : kCounts) {
      const int root = static_cast<int>(count % rank.size());
      const bool is_root = rank.rank() == root;
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> from_root(count);
      Buffer<float> sum(count);
      EXPECT_EQ(ncclBroadcast(input.data(), from_root.data(), count, ncclFloat, root, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclReduce(input.data(), is_root ? sum.data() : nullptr, count, ncclFloat, ncclSum,
                           root, rank.comm(), rank.stream()),
                ncclSuccess);
      EXPECT_EQ(ncclBroadcast(input.data(), input.data(), count, ncclFloat, root, rank.comm(),
                              rank.stream()),
                ncclSuccess);
      rank.Wait();
      ExpectSame(from_root.Get(), InputOf(root, count), "broadcast of " + Elements(count));
      ExpectSame(input.Get(), InputOf(root, count), "broadcast in place of " + Elements(count));
      if (is_root) ExpectSame(sum.Get(), SumOf(rank.size(), count), "reduce " + Elements(count));
    }
  });
}

TEST_P(NcclKernels, AllGatherAndReduceScatter) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : kCounts) {
      const size_t total = count * rank.size();
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> all(total);
      Buffer<float> whole(InputOf(rank.rank(), total));
      Buffer<float> part(count);
      EXPECT_EQ(
          ncclAllGather(input.data(), all.data(), count, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
      EXPECT_EQ(ncclReduceScatter(whole.data(), part.data(), count, ncclFloat, ncclSum, rank.comm(),
                                  rank.stream()),
                ncclSuccess);
      float* const own_place = whole.data() + rank.rank() * count;
      EXPECT_EQ(cudaMemcpyAsync(own_place, input.data(), count * sizeof(float),
                                cudaMemcpyDeviceToDevice, rank.stream()),
                cudaSuccess);
      EXPECT_EQ(
          ncclAllGather(own_place, whole.data(), count, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
      rank.Wait();
      ExpectSame(all.Get(), Concatenated(rank.size(), count), "all-gather of " + Elements(count));
      ExpectSame(whole.Get(), Concatenated(rank.size(), count), "in place of " + Elements(count));
      const std::vector<float> sum = SumOf(rank.size(), total);
      const auto begin = sum.begin() + rank.rank() * count;
      ExpectSame(part.Get(), {begin, begin + count}, "reduce-scatter of " + Elements(count));
    }
  });
}

TEST_P(NcclKernels, SendAndReceiveAroundTheRing) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : {0, 1, 1000, 100'003, 1'500'000}) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> output(count);
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      EXPECT_EQ(ncclSend(input.data(), count, ncclFloat, rank.next(), rank.comm(), rank.stream()),
                ncclSuccess);
      EXPECT_EQ(
          ncclRecv(output.data(), count, ncclFloat, rank.previous(), rank.comm(), rank.stream()),
          ncclSuccess);
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      ExpectSame(output.Get(), InputOf(rank.previous(), count), Elements(count));
    }
  });
}

// Every rank sends to every rank, itself too, twice in one group.
TEST_P(NcclKernels, AllToAll) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : {1, 1000, 200'000}) {
      const size_t total = 2 * count * rank.size();
      Buffer<float> input(InputOf(rank.rank(), total));
      Buffer<float> output(total);
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      for (size_t part = 0; part < static_cast<size_t>(2 * rank.size()); ++part) {
        const int peer = static_cast<int>(part / 2);
        const size_t offset = part * count;
        EXPECT_EQ(
            ncclSend(input.data() + offset, count, ncclFloat, peer, rank.comm(), rank.stream()),
            ncclSuccess);
        EXPECT_EQ(
            ncclRecv(output.data() + offset, count, ncclFloat, peer, rank.comm(), rank.stream()),
            ncclSuccess);
      }
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      std::vector<float> want;
      for (int peer = 0; peer < rank.size(); ++peer) {
        const std::vector<float> sent = InputOf(peer, total);
        const auto begin = sent.begin() + 2 * rank.rank() * count;
        want.insert(want.end(), begin, begin + 2 * count);
      }
      ExpectSame(output.Get(), want, Elements(count));
    }
  });
}

// NCCL 2.30 makes one kernel of these.
TEST_P(NcclKernels, GroupedBroadcastsFromAllRanks) {
  ForEachRank(GetParam(), [](Rank& rank) {
    for (const size_t count : {1, 1000, 300'000}) {
      Buffer<float> input(InputOf(rank.rank(), count));
      Buffer<float> all(count * rank.size());
      EXPECT_EQ(ncclGroupStart(), ncclSuccess);
      for (int root = 0; root < rank.size(); ++root) {
        EXPECT_EQ(ncclBroadcast(input.data(), all.data() + root * count, count, ncclFloat, root,
                                rank.comm(), rank.stream()),
                  ncclSuccess);
      }
      EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
      rank.Wait();
      ExpectSame(all.Get(), Concatenated(rank.size(), count), Elements(count));
    }
  });
}

// Collectives that cut their chunks differently share connections. Hundreds of them are under way
// at a time, more than NCCL's ring of work holds.
TEST_P(NcclKernels, ManyInARow) {
  ForEachRank(GetParam(), [](Rank& rank) {
    constexpr int kRounds = 150;
    constexpr size_t kCount = 5000;
    Buffer<float> input(InputOf(rank.rank(), kCount));
    Buffer<float> sum(kCount);
    Buffer<float> all(kCount * rank.size());
    Buffer<float> received(kCount);
    for (int round = 0; round < kRounds; ++round) {
      const int root = round % rank.size();
      ncclAllReduce(input.data(), sum.data(), kCount, ncclFloat, ncclSum, rank.comm(),
                    rank.stream());
      ncclBroadcast(input.data(), received.data(), kCount - round, ncclFloat, root, rank.comm(),
                    rank.stream());
      ncclGroupStart();
      ncclSend(sum.data(), kCount - round, ncclFloat, rank.next(), rank.comm(), rank.stream());
      ncclRecv(received.data(), kCount - round, ncclFloat, rank.previous(), rank.comm(),
               rank.stream());
      ncclGroupEnd();
      EXPECT_EQ(
          ncclAllGather(input.data(), all.data(), kCount, ncclFloat, rank.comm(), rank.stream()),
          ncclSuccess);
    }
    rank.Wait();
    std::vector<float> want = SumOf(rank.size(), kCount);
    ExpectSame(sum.Get(), want, "all-reduce");
    ExpectSame(all.Get(), Concatenated(rank.size(), kCount), "all-gather");
    std::vector<float> got = received.Get();
    got.resize(kCount - kRounds);
    want.resize(kCount - kRounds);
    ExpectSame(got, want, "received");
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, NcclKernels,
                         ::testing::Values(Layout{"TwoRanksShm", 2, 2}, Layout{"TwoRanksNet", 2, 1},
                                           Layout{"FourRanksTwoNodes", 4, 2},
                                           Layout{"ThreeRanksManyChannels", 3, 3, "4"},
                                           Layout{"EightRanksTwoNodes", 8, 4}),
                         [](const auto& info) { return info.param.name; });

// The arithmetic of each type, with 4 ranks.
constexpr int kRanks = 4;

const Layout& FourRanks() {
  static const auto* const layout = new Layout{"FourRanks", kRanks, kRanks};
  return *layout;
}

template <class T>
double Value(T value) {
  return static_cast<double>(value);
}
template <>
double Value(__half value) {
  return __half2float(value);
}
template <>
double Value(__nv_bfloat16 value) {
  return __bfloat162float(value);
}

template <class T>
T Of(double value) {
  return static_cast<T>(static_cast<float>(value));
}

double ReduceValues(ncclRedOp_t op, const std::vector<double>& values) {
  double result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const double value = values[i];
    if (op == ncclSum || op == ncclAvg) result += value;
    if (op == ncclProd) result *= value;
    if (op == ncclMin) result = std::min(result, value);
    if (op == ncclMax) result = std::max(result, value);
  }
  return result;
}

// What rank `rank` gives for element `i`; multiples of 4, so that averages are exact.
double Given(ncclRedOp_t op, int rank, size_t i, bool is_signed) {
  if (op == ncclProd) return (i + rank) % 3 == 0 ? 2 : 1;
  const double value = static_cast<double>((i * 7 + rank * 3) % 5) * 4;
  return is_signed && (i + rank) % 2 == 1 ? -value : value;
}

template <class T>
void CheckType(Rank& rank, ncclDataType_t type, ncclRedOp_t op, bool is_signed) {
  constexpr size_t kCount = 77;
  std::vector<T> input(kCount);
  std::vector<double> want(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    std::vector<double> values;
    for (int peer = 0; peer < kRanks; ++peer) values.push_back(Given(op, peer, i, is_signed));
    input[i] = Of<T>(values[rank.rank()]);
    want[i] = ReduceValues(op, values) / (op == ncclAvg ? kRanks : 1);
  }
  Buffer<T> buffer(input);
  EXPECT_EQ(
      ncclAllReduce(buffer.data(), buffer.data(), kCount, type, op, rank.comm(), rank.stream()),
      ncclSuccess);
  rank.Wait();
  std::vector<double> got;
  for (const T value : buffer.Get()) got.push_back(Value(value));
  ExpectSame(got, want, "type " + std::to_string(type) + ", operation " + std::to_string(op));
}

TEST(NcclKernelTypes, EveryTypeAndOperation) {
  ForEachRank(FourRanks(), [](Rank& rank) {
    for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMin, ncclMax, ncclAvg}) {
      CheckType<int8_t>(rank, ncclInt8, op, true);
      CheckType<uint8_t>(rank, ncclUint8, op, false);
      CheckType<int32_t>(rank, ncclInt32, op, true);
      CheckType<uint32_t>(rank, ncclUint32, op, false);
      CheckType<int64_t>(rank, ncclInt64, op, true);
      CheckType<uint64_t>(rank, ncclUint64, op, false);
      CheckType<__half>(rank, ncclFloat16, op, true);
      CheckType<float>(rank, ncclFloat, op, true);
      CheckType<double>(rank, ncclDouble, op, true);
      CheckType<__nv_bfloat16>(rank, ncclBfloat16, op, true);
    }
  });
}

// The average of integers rounds toward zero.
TEST(NcclKernelTypes, AverageOfNegativeIntegersRoundsTowardZero) {
  ForEachRank(FourRanks(), [](Rank& rank) {
    Buffer<int8_t> buffer(std::vector<int8_t>{static_cast<int8_t>(rank.rank() == 0 ? -7 : 0)});
    EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), 1, ncclInt8, ncclAvg, rank.comm(),
                            rank.stream()),
              ncclSuccess);
    rank.Wait();
    EXPECT_EQ(buffer.Get(), std::vector<int8_t>{-1});
  });
}

void CheckScaledSum(Rank& rank, void* scalar, ncclScalarResidence_t residence) {
  ncclRedOp_t op;
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat, residence, rank.comm()), ncclSuccess);
  Buffer<float> input(InputOf(rank.rank(), 100));
  Buffer<float> output(100);
  EXPECT_EQ(
      ncclAllReduce(input.data(), output.data(), 100, ncclFloat, op, rank.comm(), rank.stream()),
      ncclSuccess);
  rank.Wait();
  EXPECT_EQ(ncclRedOpDestroy(op, rank.comm()), ncclSuccess);
  std::vector<float> want = SumOf(rank.size(), 100);
  for (float& value : want) value *= 0.5f;
  ExpectSame(output.Get(), want, "scaled sum");
}

void CheckScaledSums(Rank& rank) {
  float half = 0.5f;
  CheckScaledSum(rank, &half, ncclScalarHostImmediate);
  Buffer<float> on_device(std::vector<float>{half});
  CheckScaledSum(rank, on_device.data(), ncclScalarDevice);
}

TEST(NcclKernelTypes, ScaledSum) { ForEachRank(FourRanks(), CheckScaledSums); }

TEST(NcclKernelOneRank, ScalesAndCopies) {
  ForEachRank({"OneRank", 1, 1}, [](Rank& rank) {
    CheckScaledSums(rank);
    Buffer<float> input(InputOf(0, 1000));
    Buffer<float> output(1000);
    EXPECT_EQ(ncclAllReduce(input.data(), output.data(), 1000, ncclFloat, ncclSum, rank.comm(),
                            rank.stream()),
              ncclSuccess);
    rank.Wait();
    ExpectSame(output.Get(), InputOf(0, 1000), "copy");
  });
}

using Clock = std::chrono::steady_clock;

// Starts an all-reduce that cannot end, and aborts the communicator.
void ExpectAbortEndsIt(Rank& rank) {
  constexpr size_t kCount = 1'000'000;
  Buffer<float> buffer(InputOf(rank.rank(), kCount));
  EXPECT_EQ(ncclAllReduce(buffer.data(), buffer.data(), kCount, ncclFloat, ncclSum, rank.comm(),
                          rank.stream()),
            ncclSuccess);
  usleep(300'000);
  EXPECT_FALSE(rank.Idle());
  const Clock::time_point begin = Clock::now();
  rank.Abort();
  rank.Wait();
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
  EXPECT_NE(buffer.Get(), SumOf(rank.size(), kCount));
}

class NcclKernelAbort : public ::testing::TestWithParam<Layout> {};

TEST_P(NcclKernelAbort, EndsAKernelWhosePeerIsMissing) {
  ExpectForked(GetParam().ranks, [](int rank, Board& board) {
    Rank self(GetParam(), rank, board);
    if (rank == 0) {
      usleep(600'000);
      self.Abort();
    } else {
      ExpectAbortEndsIt(self);
    }
  });
}

TEST_P(NcclKernelAbort, EndsAKernelWhosePeerWasKilled) {
  const std::vector<RankEnd> ends = RunForked(GetParam().ranks, [](int rank, Board& board) {
    Rank self(GetParam(), rank, board);
    if (rank == 0) kill(getpid(), SIGKILL);
    ExpectAbortEndsIt(self);
  });
  EXPECT_TRUE(WIFSIGNALED(ends[0].status));
  for (int rank = 1; rank < GetParam().ranks; ++rank) {
    EXPECT_EQ(ends[rank].status, 0) << "rank " << rank << ":\n" << ends[rank].output;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, NcclKernelAbort,
                         ::testing::Values(Layout{"TwoRanksShm", 2, 2}, Layout{"TwoRanksNet", 2, 1},
                                           Layout{"FourRanksTwoNodes", 4, 2}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace muster::testing
