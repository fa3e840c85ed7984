// Scenarios that check every operation and type of NcclCommunicator on device memory against a
// plain computation.

#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/scopes.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"
#include "tests/client/nccl/rank/typed_numbers.h"

namespace muster::testing {
namespace {

constexpr size_t kCount = 37;

// Returns 1 or 2, so that sums, products and averages of up to four values are exact in every type.
double ValueOf(int rank, size_t index) { return 1 + static_cast<double>((rank + index) % 2); }

// A rank's checks of one type.
class TypeCheck {
 public:
  TypeCheck(NcclCommunicator& comm, cudaStream_t stream, const TypeInfo& info)
      : comm_(comm), stream_(stream), info_(info), size_(comm.size()), rank_(comm.rank()) {}

  absl::Status Run() {
    for (ReduceOp op : AllOps()) {
      if (op == ReduceOp::kAverage && size_ == 3 && !info_.is_integer) continue;  // not exact
      RETURN_IF_ERROR(AllReduce(op, /*in_place=*/false));
      RETURN_IF_ERROR(AllReduce(op, /*in_place=*/true));
      RETURN_IF_ERROR(Reduce(op, size_ - 1));
      RETURN_IF_ERROR(ReduceScatter(op, /*in_place=*/false));
      RETURN_IF_ERROR(ReduceScatter(op, /*in_place=*/true));
    }
    RETURN_IF_ERROR(Broadcast());
    RETURN_IF_ERROR(AllGather(/*in_place=*/false));
    RETURN_IF_ERROR(AllGather(/*in_place=*/true));
    return Ring();
  }

 private:
  std::vector<double> Values(int rank, size_t first, size_t count) const {
    std::vector<double> values;
    for (size_t i = first; i < first + count; ++i) values.push_back(ValueOf(rank, i));
    return values;
  }

  std::vector<double> ReducedValues(ReduceOp op, size_t first) const {
    std::vector<double> result;
    for (size_t i = first; i < first + kCount; ++i) {
      std::vector<double> values;
      for (int rank = 0; rank < size_; ++rank) values.push_back(ValueOf(rank, i));
      result.push_back(Reduced(op, values, info_.is_integer));
    }
    return result;
  }

  // Waits for the enqueued operation, and compares its result.
  absl::Status Check(const absl::Status& enqueued, const DeviceMemory& memory, size_t first,
                     const std::vector<double>& expected, const std::string& what) {
    RETURN_IF_ERROR(enqueued);
    RETURN_IF_ERROR(comm_.Wait(stream_));
    std::vector<double> got = memory.numbers();
    got = std::vector<double>(got.begin() + first, got.begin() + first + expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      RETURN_IF_ERROR(
          Expect(got[i] == expected[i], absl::StrCat(what, " of ", info_.name, ": element ", i,
                                                     " is ", got[i], ", expected ", expected[i])));
    }
    return absl::OkStatus();
  }

  absl::Status AllReduce(ReduceOp op, bool in_place) {
    const DeviceMemory in(info_.type, Values(rank_, 0, kCount));
    const DeviceMemory out(info_.type, std::vector<double>(kCount));
    const DeviceMemory& target = in_place ? in : out;
    return Check(comm_.AllReduce(in.get(), target.get(), kCount, info_.type, op, stream_), target,
                 0, ReducedValues(op, 0), absl::StrCat("AllReduce ", NameOf(op)));
  }

  absl::Status Reduce(ReduceOp op, int root) {
    const DeviceMemory in(info_.type, Values(rank_, 0, kCount));
    const DeviceMemory out(info_.type, std::vector<double>(kCount));
    const bool is_root = rank_ == root;
    return Check(comm_.Reduce(in.get(), is_root ? out.get() : nullptr, kCount, info_.type, op, root,
                              stream_),
                 out, 0, is_root ? ReducedValues(op, 0) : std::vector<double>(kCount),
                 absl::StrCat("Reduce ", NameOf(op)));
  }

  absl::Status ReduceScatter(ReduceOp op, bool in_place) {
    const DeviceMemory in(info_.type, Values(rank_, 0, kCount * size_));
    const DeviceMemory out(info_.type, std::vector<double>(kCount));
    const size_t first = kCount * rank_;
    void* const target = in_place ? in.at(first) : out.get();
    return Check(comm_.ReduceScatter(in.get(), target, kCount, info_.type, op, stream_),
                 in_place ? in : out, in_place ? first : 0, ReducedValues(op, first),
                 absl::StrCat("ReduceScatter ", NameOf(op)));
  }

  absl::Status Broadcast() {
    const int root = size_ / 2;
    const DeviceMemory data(info_.type, Values(rank_, 0, kCount));
    const DeviceMemory out(info_.type, std::vector<double>(kCount));
    RETURN_IF_ERROR(Check(comm_.Broadcast(data.get(), out.get(), kCount, info_.type, root, stream_),
                          out, 0, Values(root, 0, kCount), "Broadcast"));
    return Check(comm_.Broadcast(data.get(), data.get(), kCount, info_.type, root, stream_), data,
                 0, Values(root, 0, kCount), "Broadcast in place");
  }

  absl::Status AllGather(bool in_place) {
    std::vector<double> expected;
    for (int rank = 0; rank < size_; ++rank) {
      for (double value : Values(rank, 0, kCount)) expected.push_back(value);
    }
    const DeviceMemory in(info_.type, Values(rank_, 0, kCount));
    std::vector<double> before(kCount * size_);
    if (in_place)
      std::copy_n(Values(rank_, 0, kCount).begin(), kCount, before.begin() + kCount * rank_);
    const DeviceMemory out(info_.type, before);
    const void* const source = in_place ? out.at(kCount * rank_) : in.get();
    return Check(comm_.AllGather(source, out.get(), kCount, info_.type, stream_), out, 0, expected,
                 "AllGather");
  }

  // A Send and a Recv in one group do not wait for each other.
  absl::Status Ring() {
    if (size_ == 1) return absl::OkStatus();
    const int next = (rank_ + 1) % size_;
    const int previous = (rank_ + size_ - 1) % size_;
    const DeviceMemory in(info_.type, Values(rank_, 0, kCount));
    const DeviceMemory out(info_.type, std::vector<double>(kCount));
    const absl::Status enqueued = comm_.Grouped([&](NcclCommunicator& comm) {
      RETURN_IF_ERROR(comm.Send(in.get(), kCount, info_.type, next, stream_));
      return comm.Recv(out.get(), kCount, info_.type, previous, stream_);
    });
    return Check(enqueued, out, 0, Values(previous, 0, kCount), "Send and Recv");
  }

  NcclCommunicator& comm_;
  cudaStream_t const stream_;
  const TypeInfo& info_;
  const int size_;
  const int rank_;
};

// Reduces buffers of different types and sizes in one launch, on two streams of the caller.
absl::Status ManyBuffers(NcclCommunicator& comm) {
  const Stream first;
  const Stream second;
  const DeviceMemory floats(DataType::kFloat32, {1, 2, 3});
  const DeviceMemory halves(DataType::kFloat16, {4});
  const DeviceMemory integers(DataType::kInt64, std::vector<double>(1000, comm.rank()));
  const AllReducePart buffers[] = {
      {floats.get(), floats.get(), 3, DataType::kFloat32},
      {halves.get(), halves.get(), 1, DataType::kFloat16},
      {nullptr, nullptr, 0, DataType::kInt8},
      {integers.get(), integers.get(), 1000, DataType::kInt64},
  };
  RETURN_IF_ERROR(comm.AllReduce(buffers, ReduceOp::kSum, first.get()));
  RETURN_IF_ERROR(comm.AllReduce(floats.get(), floats.get(), 3, DataType::kFloat32, ReduceOp::kMax,
                                 second.get()));
  RETURN_IF_ERROR(comm.Wait(first.get()));
  RETURN_IF_ERROR(comm.Wait(second.get()));
  const double n = comm.size();
  RETURN_IF_ERROR(Expect(floats.numbers() == std::vector<double>({n, 2 * n, 3 * n}), "floats"));
  RETURN_IF_ERROR(Expect(halves.numbers() == std::vector<double>({4 * n}), "halves"));
  return Expect(integers.numbers() == std::vector<double>(1000, n * (n - 1) / 2), "integers");
}

// Runs operations on rank 0 alone, in a scope in which it does not wait for other ranks.
absl::Status Alone(Job& job, NcclCommunicator& comm) {
  const MainScope main{job};
  if (!main) return absl::OkStatus();
  const Stream stream;
  const DeviceMemory in(DataType::kFloat32, {5, 6});
  const DeviceMemory out(DataType::kFloat32, {0, 0});
  RETURN_IF_ERROR(
      comm.AllReduce(in.get(), out.get(), 2, DataType::kFloat32, ReduceOp::kSum, stream.get()));
  std::vector<double> gathered(2 * comm.size(), 9);
  const DeviceMemory all(DataType::kFloat32, gathered);
  RETURN_IF_ERROR(comm.AllGather(in.get(), all.get(), 2, DataType::kFloat32, stream.get()));
  RETURN_IF_ERROR(comm.Wait(stream.get()));
  gathered[0] = 5;
  gathered[1] = 6;
  RETURN_IF_ERROR(Expect(out.numbers() == std::vector<double>({5, 6}), "AllReduce in a scope"));
  RETURN_IF_ERROR(Expect(all.numbers() == gathered, "AllGather in a scope"));
  RETURN_IF_ERROR(Expect(absl::IsFailedPrecondition(comm.Split(job.world()).status()),
                         "Split in a scope is refused"));
  return Expect(absl::IsFailedPrecondition(NcclCommunicator::Create(job).status()),
                "Create in a scope is refused");
}

// Sends and receives on the caller's stream, without Grouped().
absl::Status Exchanges(NcclCommunicator& comm) {
  const Stream stream;
  const int n = comm.size();
  const int rank = comm.rank();
  const int left = (rank + n - 1) % n;
  const DeviceMemory out(DataType::kInt32, std::vector<double>(7, rank));
  const DeviceMemory in(DataType::kInt32, std::vector<double>(7));
  RETURN_IF_ERROR(comm.SendRecv(out.get(), 7, (rank + 1) % n, in.get(), 7, left, DataType::kInt32,
                                stream.get()));
  const DeviceMemory parts(DataType::kInt32, std::vector<double>(2 * n, rank));
  const DeviceMemory got(DataType::kInt32, std::vector<double>(2 * n));
  RETURN_IF_ERROR(comm.AllToAll(parts.get(), got.get(), 2, DataType::kInt32, stream.get()));
  std::vector<size_t> counts;
  std::vector<double> all, pairs;
  for (int peer = 0; peer < n; ++peer) {
    counts.push_back(peer);
    all.insert(all.end(), peer, peer);
    pairs.insert(pairs.end(), 2, peer);
  }
  const DeviceMemory gathered(DataType::kInt32, std::vector<double>(all.size() + 1, -1));
  RETURN_IF_ERROR(
      comm.AllGather(out.get(), counts, gathered.get(), DataType::kInt32, stream.get()));
  RETURN_IF_ERROR(comm.Wait(stream.get()));
  all.push_back(-1);  // memory behind the results is unchanged
  RETURN_IF_ERROR(Expect(in.numbers() == std::vector<double>(7, left), "SendRecv"));
  RETURN_IF_ERROR(Expect(got.numbers() == pairs, "AllToAll"));
  return Expect(gathered.numbers() == all, "AllGather of different sizes");
}

// Returns whether this NCCL lacks the type: 8-bit floats need 2.24.
bool NeedsNewerNccl(const TypeInfo& info) {
  constexpr int kFloat8Nccl = 22400;
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return true;
  return !info.is_integer && info.size == 1 && version < kFloat8Nccl;
}

// Calls on a thread that has never used CUDA. Its current device is the first one, which is another
// rank's.
absl::Status OnAnotherThread(NcclCommunicator& comm) {
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, {1, 1});
  absl::Status status;
  std::thread([&] {
    status =
        comm.AllReduce(data.get(), data.get(), 2, DataType::kFloat32, ReduceOp::kSum, stream.get());
    status.Update(comm.Wait(stream.get()));
    status.Update(comm.Grouped([&](NcclCommunicator& self) {
      return self.Broadcast(data.get(), data.get(), 2, DataType::kFloat32, 0, stream.get());
    }));
    CallOptions options;
    options.stream = stream.get();
    const MutableTensorView view{DataType::kFloat32, {2}, data.get(), 2 * sizeof(float)};
    status.Update(comm.AllReduce(view, view, ReduceOp::kSum, options));
    status.Update(comm.WithHandle([](ncclComm_t) { return ncclSuccess; }));
  }).join();
  return status;
}

}  // namespace

absl::Status DeviceValues(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job, OptionsOf(arguments));
  RETURN_IF_ERROR(comm.status());
  RETURN_IF_ERROR(Expect((*comm)->rank() == job.rank() && (*comm)->size() == job.world_size(),
                         "rank and size"));
  int device = -1;
  CheckCuda(cudaGetDevice(&device));
  RETURN_IF_ERROR(Expect(device == (*comm)->device(), "the device is current"));
  int size = 0;
  RETURN_IF_ERROR(
      (*comm)->WithHandle([&](ncclComm_t handle) { return ncclCommCount(handle, &size); }));
  RETURN_IF_ERROR(Expect(size == job.world_size(), "NCCL's own size"));
  const Stream stream;
  for (const TypeInfo& info : AllTypes()) {
    if (NeedsNewerNccl(info)) continue;
    RETURN_IF_ERROR(TypeCheck(**comm, stream.get(), info).Run());
  }
  RETURN_IF_ERROR(ManyBuffers(**comm));
  RETURN_IF_ERROR(Exchanges(**comm));
  RETURN_IF_ERROR(CheckTensorOperations(**comm));
  RETURN_IF_ERROR(Alone(job, **comm));
  RETURN_IF_ERROR(OnAnotherThread(**comm));
  return (*comm)->health();
}

}  // namespace muster::testing
