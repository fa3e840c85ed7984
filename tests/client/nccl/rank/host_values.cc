// Scenarios of Communicator on the NCCL backend: every operation, on host memory and on device
// memory.

#include <cstdint>
#include <numeric>
#include <vector>

#include "muster/communicator.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

template <class T>
absl::Span<const T> Const(const std::vector<T>& values) {
  return values;
}

template <class T>
absl::Status Collectives(Communicator& comm, size_t count) {
  const int n = comm.size();
  const int rank = comm.rank();
  std::vector<T> data(count, static_cast<T>(rank + 1));
  RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(data)));
  const int sum_of_ranks = n * (n + 1) / 2;
  const std::vector<T> sum(count, static_cast<T>(sum_of_ranks));
  RETURN_IF_ERROR(Expect(data == sum, "AllReduce in place"));
  std::vector<T> in(count, static_cast<T>(rank + 1));
  std::vector<T> out(count);
  RETURN_IF_ERROR(comm.AllReduce(Const(in), absl::MakeSpan(out)));
  RETURN_IF_ERROR(Expect(out == sum, "AllReduce"));
  RETURN_IF_ERROR(comm.Broadcast(absl::MakeSpan(in), n - 1));
  RETURN_IF_ERROR(Expect(in == std::vector<T>(count, static_cast<T>(n)), "Broadcast"));
  std::vector<T> reduced(rank == 0 ? count : 0);
  RETURN_IF_ERROR(comm.Reduce(Const(in), absl::MakeSpan(reduced), ReduceOp::kSum, 0));
  return Expect(rank != 0 || reduced == std::vector<T>(count, static_cast<T>(n * n)), "Reduce");
}

template <class T>
absl::Status Parts(Communicator& comm, size_t count) {
  const int n = comm.size();
  const int rank = comm.rank();
  const std::vector<T> in(count, static_cast<T>(rank));
  std::vector<T> all(count * n);
  RETURN_IF_ERROR(comm.AllGather(Const(in), absl::MakeSpan(all)));
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t from = i / count;
    RETURN_IF_ERROR(Expect(all[i] == static_cast<T>(from), "AllGather"));
  }
  std::vector<T> part(count);
  RETURN_IF_ERROR(comm.ReduceScatter(Const(all), absl::MakeSpan(part)));
  return Expect(part == std::vector<T>(count, static_cast<T>(n * rank)), "ReduceScatter");
}

template <class T>
absl::Status AllOf(Communicator& comm) {
  for (size_t count : {size_t{1}, size_t{1001}}) {
    RETURN_IF_ERROR(Collectives<T>(comm, count));
    RETURN_IF_ERROR(Parts<T>(comm, count));
  }
  return absl::OkStatus();
}

absl::Status PassOn(Communicator& comm) {
  const int n = comm.size();
  const int rank = comm.rank();
  if (n == 1) return absl::OkStatus();
  std::vector<int64_t> token(3, rank == 0 ? 7 : 0);
  if (rank > 0) {
    RETURN_IF_ERROR(comm.Recv(absl::MakeSpan(token), rank - 1));
  }
  if (rank + 1 < n) {
    RETURN_IF_ERROR(comm.Send(Const(token), rank + 1));
  }
  return Expect(token == std::vector<int64_t>(3, 7), "Send and Recv");
}

absl::Status Coalesced(Communicator& comm) {
  std::vector<float> first(10, 1);
  std::vector<float> second(1000, 2);
  const absl::Span<float> buffers[] = {absl::MakeSpan(first), absl::MakeSpan(second), {}};
  RETURN_IF_ERROR(comm.AllReduceCoalesced<float>(buffers, ReduceOp::kAverage));
  return Expect(first == std::vector<float>(10, 1) && second == std::vector<float>(1000, 2),
                "AllReduceCoalesced");
}

absl::Status Exchanges(Communicator& comm) {
  const int n = comm.size();
  const int rank = comm.rank();
  const int right = (rank + 1) % n;
  const int left = (rank + n - 1) % n;
  const std::vector<int32_t> out(10 + rank, rank);
  std::vector<int32_t> in(10 + left);
  RETURN_IF_ERROR(comm.SendRecv(out, right, in, left));
  RETURN_IF_ERROR(Expect(in == std::vector<int32_t>(10 + left, left), "SendRecv"));
  std::vector<int32_t> parts(3 * n), got(3 * n), expected(3 * n);
  for (int i = 0; i < 3 * n; ++i) {
    parts[i] = 100 * rank + i / 3;
    expected[i] = 100 * (i / 3) + rank;
  }
  RETURN_IF_ERROR(comm.AllToAll(parts, got));
  RETURN_IF_ERROR(Expect(got == expected, "AllToAll"));
  std::vector<size_t> counts;
  expected.clear();
  for (int peer = 0; peer < n; ++peer) {
    counts.push_back(peer == 1 ? 0 : 5 * peer + 1);
    expected.insert(expected.end(), counts.back(), peer);
  }
  got.assign(expected.size(), -1);
  RETURN_IF_ERROR(comm.AllGather(std::vector<int32_t>(counts[rank], rank), counts, got));
  return Expect(got == expected, "AllGather of different sizes");
}

// Reduces half-precision elements, with a type known only at run time.
absl::Status Views(Communicator& comm) {
  const DeviceMemory data(DataType::kFloat16, std::vector<double>(100, 1));
  const MutableTensorView view = {DataType::kFloat16, {10, 10}, data.get(), 200};
  RETURN_IF_ERROR(comm.AllReduce(view));
  return Expect(data.numbers() == std::vector<double>(100, comm.size()), "AllReduce of a view");
}

// Checks that the caller's kernels go on while the sums are computed.
absl::Status Started(Communicator& comm) {
  const Stream stream;
  const DeviceMemory data(DataType::kUint8, std::vector<double>(1000));
  const DeviceMemory other(DataType::kUint8, std::vector<double>(1000));
  const MutableTensorView view = {DataType::kUint8, {1000}, data.get(), 1000};
  for (int i = 0; i < 10; ++i) {
    CheckCuda(cudaMemsetAsync(data.get(), 1, 1000, stream.get()));
    const PendingOperation reducing =
        comm.Start([&](Communicator& c) { return c.AllReduce(view); }, stream.get());
    CheckCuda(cudaMemsetAsync(other.get(), i, 1000, stream.get()));
    RETURN_IF_ERROR(reducing.Wait());
    CheckCuda(
        cudaMemcpyAsync(other.get(), data.get(), 1000, cudaMemcpyDeviceToDevice, stream.get()));
    CheckCuda(cudaStreamSynchronize(stream.get()));
    RETURN_IF_ERROR(
        Expect(other.numbers() == std::vector<double>(1000, comm.size()), "a started AllReduce"));
  }
  return absl::OkStatus();
}

// Checks that spans of device memory are used in place.
absl::Status OnDevice(Communicator& comm) {
  const DeviceMemory data(DataType::kFloat32, std::vector<double>(100, 1));
  auto* const pointer = static_cast<float*>(data.get());
  RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(pointer, 100)));
  return Expect(data.numbers() == std::vector<double>(100, comm.size()), "AllReduce on the device");
}

// Reduces growing sizes, which move the staging buffer for host memory.
absl::Status Growing(Communicator& comm) {
  for (size_t count = 1; count < (1 << 18); count *= 8) {
    std::vector<double> data(count);
    std::iota(data.begin(), data.end(), 0);
    RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(data), ReduceOp::kMax));
    RETURN_IF_ERROR(Expect(data.back() == static_cast<double>(count - 1), "a growing AllReduce"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status HostValues(Job& job, const Arguments& arguments) {
  auto comm = Communicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  RETURN_IF_ERROR(Expect((*comm)->backend() == "nccl", (*comm)->backend()));
  RETURN_IF_ERROR(AllOf<float>(**comm));
  RETURN_IF_ERROR(AllOf<double>(**comm));
  RETURN_IF_ERROR(AllOf<int8_t>(**comm));
  RETURN_IF_ERROR(AllOf<uint8_t>(**comm));
  RETURN_IF_ERROR(AllOf<int32_t>(**comm));
  RETURN_IF_ERROR(AllOf<uint32_t>(**comm));
  RETURN_IF_ERROR(AllOf<int64_t>(**comm));
  RETURN_IF_ERROR(AllOf<uint64_t>(**comm));
  RETURN_IF_ERROR(PassOn(**comm));
  RETURN_IF_ERROR(Coalesced(**comm));
  RETURN_IF_ERROR(Exchanges(**comm));
  RETURN_IF_ERROR(Views(**comm));
  RETURN_IF_ERROR(Started(**comm));
  RETURN_IF_ERROR(CheckTensorOperations(**comm));
  RETURN_IF_ERROR(OnDevice(**comm));
  RETURN_IF_ERROR(Growing(**comm));
  return (*comm)->Barrier();
}

}  // namespace muster::testing
