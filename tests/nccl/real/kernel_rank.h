#ifndef MUSTER_TESTS_NCCL_REAL_KERNEL_RANK_H_
#define MUSTER_TESTS_NCCL_REAL_KERNEL_RANK_H_

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nccl/fake/forked_nccl_ranks.h"

// Ranks on the real NCCL and stand-in GPUs, with their values, for tests of its kernels.
namespace muster::testing {

// The number of ranks, and how they are spread over hosts.
struct Layout {
  std::string name;
  int ranks;
  int per_node;  // ranks that share a host
  std::string channels = "";
};

inline void PrintTo(const Layout& layout, std::ostream* out) { *out << layout.name; }

inline void SetEnvironment(const Layout& layout, int rank) {
  setenv("NCCL_HOSTID", ("node" + std::to_string(rank / layout.per_node)).c_str(), 1);
  setenv("NCCL_ALGO", "Ring", 1);
  setenv("NCCL_PROTO", "Simple", 1);
  setenv("NCCL_CUMEM_ENABLE", "0", 0);  // the caller's environment may turn it on
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
  Rank(const Layout& layout, int rank, IdExchange& exchange) : rank_(rank), size_(layout.ranks) {
    SetEnvironment(layout, rank);
    EXPECT_EQ(cudaSetDevice(rank % layout.per_node), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    if (rank == 0) {
      ncclUniqueId id;
      EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
      exchange.Put(0, id);
    }
    EXPECT_EQ(ncclCommInitRank(&comm_, size_, exchange.Get(0), rank), ncclSuccess);
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

// Runs `body` on all ranks, and expects that all succeed.
inline void ForEachRank(const Layout& layout, const std::function<void(Rank&)>& body) {
  ExpectForked(layout.ranks, [&](int rank, IdExchange& exchange) {
    Rank self(layout, rank, exchange);
    body(self);
    // Before 2.24, NCCL drops what its proxy has not begun to send when a communicator ends.
    exchange.AwaitAll(layout.ranks);
    self.Destroy();
  });
}

// Returns a rank's input: small integers, whose sum is exact.
template <class T = float>
std::vector<T> InputOf(int rank, size_t count, int modulus = 11) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<T>((i * 3 + rank * 5) % modulus);
  return values;
}

inline std::vector<float> SumOf(int size, size_t count) {
  std::vector<float> sum(count);
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> input = InputOf(rank, count);
    for (size_t i = 0; i < count; ++i) sum[i] += input[i];
  }
  return sum;
}

inline std::vector<float> Concatenated(int size, size_t count) {
  std::vector<float> all;
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> input = InputOf(rank, count);
    all.insert(all.end(), input.begin(), input.end());
  }
  return all;
}

// Expects equal vectors. A failure names only the first difference, since vectors may be long.
template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  const auto at = std::mismatch(got.begin(), got.end(), want.begin());
  if (at.first == got.end()) return;
  ADD_FAILURE() << what << ": element " << at.first - got.begin() << " of " << got.size() << " is "
                << static_cast<double>(*at.first) << ", not " << static_cast<double>(*at.second);
}

inline std::string Elements(size_t count) { return std::to_string(count) + " elements"; }

}  // namespace muster::testing

#endif  // MUSTER_TESTS_NCCL_REAL_KERNEL_RANK_H_
