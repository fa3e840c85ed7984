#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"

namespace muster::gpu {
namespace {

struct NamedOp {
  ReduceOp op;
  const char* name;
};
constexpr NamedOp kOps[] = {{ReduceOp::kSum, "sum"},
                            {ReduceOp::kProduct, "product"},
                            {ReduceOp::kMin, "min"},
                            {ReduceOp::kMax, "max"},
                            {ReduceOp::kAverage, "average"}};

// Checks every operation on one type and one count.
template <class T>
class TypedValues {
 public:
  TypedValues(NcclCommunicator& comm, cudaStream_t stream, size_t count)
      : comm_(comm), stream_(stream), count_(count), root_(static_cast<int>(count) % comm.size()) {}

  absl::Status CheckAll() {
    for (const NamedOp& op : kOps) {
      RETURN_IF_ERROR(CheckAllReduces(op));
      RETURN_IF_ERROR(CheckReduce(op));
      RETURN_IF_ERROR(CheckReduceScatter(op));
    }
    RETURN_IF_ERROR(CheckBroadcast());
    RETURN_IF_ERROR(CheckAllGather());
    return CheckSendRecv();
  }

  int checked() const { return checked_; }

 private:
  std::string Name(const std::string& operation) {
    ++checked_;
    return absl::StrCat(operation, " of ", count_, " ", TypeInfo<T>::kName);
  }

  std::vector<T> Inputs(size_t count, ReduceOp op = ReduceOp::kSum) const {
    return InputsOf<T>(comm_.rank(), count, op);
  }

  template <class F>
  absl::StatusOr<std::vector<T>> Run(const std::vector<T>& input, size_t out_count, F&& enqueue) {
    return RunOnDevice<T>(comm_, input, out_count, stream_, enqueue);
  }

  absl::Status CheckAllReduces(const NamedOp& op) {
    const std::vector<T> expected = ReducedOf<T>(comm_.size(), 0, count_, op.op);
    const auto out_of_place =
        Run(Inputs(count_, op.op), count_, [&](const T* in, T* out, cudaStream_t stream) {
          return comm_.AllReduce(in, out, count_, kType, op.op, stream);
        });
    RETURN_IF_ERROR(
        ExpectEqual(out_of_place, expected, Name(absl::StrCat("all-reduce (", op.name, ")"))));

    const absl::StatusOr<DeviceArray<T>> data = DeviceArray<T>::Of(Inputs(count_, op.op));
    if (!data.ok()) return data.status();
    RETURN_IF_ERROR(comm_.AllReduce(data->data(), data->data(), count_, kType, op.op, stream_));
    RETURN_IF_ERROR(comm_.Wait(stream_));
    return ExpectEqual(data->Values(), expected,
                       Name(absl::StrCat("all-reduce in place (", op.name, ")")));
  }

  absl::Status CheckReduce(const NamedOp& op) {
    const auto reduced =
        Run(Inputs(count_, op.op), count_, [&](const T* in, T* out, cudaStream_t stream) {
          return comm_.Reduce(in, out, count_, kType, op.op, root_, stream);
        });
    // On other ranks than the root, the output does not change.
    const std::vector<T> expected = comm_.rank() == root_
                                        ? ReducedOf<T>(comm_.size(), 0, count_, op.op)
                                        : std::vector<T>(count_);
    return ExpectEqual(reduced, expected, Name(absl::StrCat("reduce (", op.name, ")")));
  }

  absl::Status CheckReduceScatter(const NamedOp& op) {
    const auto part = Run(Inputs(count_ * comm_.size(), op.op), count_,
                          [&](const T* in, T* out, cudaStream_t stream) {
                            return comm_.ReduceScatter(in, out, count_, kType, op.op, stream);
                          });
    return ExpectEqual(part, ReducedOf<T>(comm_.size(), comm_.rank() * count_, count_, op.op),
                       Name(absl::StrCat("reduce-scatter (", op.name, ")")));
  }

  absl::Status CheckBroadcast() {
    const auto got = Run(Inputs(count_), count_, [&](const T* in, T* out, cudaStream_t stream) {
      return comm_.Broadcast(in, out, count_, kType, root_, stream);
    });
    return ExpectEqual(got, InputsOf<T>(root_, count_), Name("broadcast"));
  }

  absl::Status CheckAllGather() {
    const auto got =
        Run(Inputs(count_), count_ * comm_.size(), [&](const T* in, T* out, cudaStream_t stream) {
          return comm_.AllGather(in, out, count_, kType, stream);
        });
    std::vector<T> expected;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      const std::vector<T> theirs = InputsOf<T>(rank, count_);
      expected.insert(expected.end(), theirs.begin(), theirs.end());
    }
    return ExpectEqual(got, expected, Name("all-gather"));
  }

  // Sends around the ring, in one group.
  absl::Status CheckSendRecv() {
    if (comm_.size() == 1) return absl::OkStatus();
    const int next = (comm_.rank() + 1) % comm_.size();
    const int previous = (comm_.rank() + comm_.size() - 1) % comm_.size();
    const auto got = Run(Inputs(count_), count_, [&](const T* in, T* out, cudaStream_t stream) {
      return comm_.Grouped([&](NcclCommunicator& comm) {
        RETURN_IF_ERROR(comm.Send(in, count_, kType, next, stream));
        return comm.Recv(out, count_, kType, previous, stream);
      });
    });
    return ExpectEqual(got, InputsOf<T>(previous, count_), Name("send and receive"));
  }

  static constexpr DataType kType = TypeInfo<T>::kDataType;

  NcclCommunicator& comm_;
  const cudaStream_t stream_;
  const size_t count_;
  const int root_;
  int checked_ = 0;
};

template <class... T>
absl::Status CheckTypes(NcclCommunicator& comm, cudaStream_t stream, size_t count, int* checked) {
  absl::Status status;
  const auto check = [&](auto values) {
    if (status.ok()) status = values.CheckAll();
    *checked += values.checked();
  };
  (check(TypedValues<T>(comm, stream, count)), ...);
  return status;
}

// Returns whether the loaded NCCL has 8-bit floats.
bool HasFloat8() {
  int version = 0;
  return ncclGetVersion(&version) == ncclSuccess && version >= 22400;
}

}  // namespace

absl::Status CheckValues(Job& job, const RankFlags& flags) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  const auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  int checked = 0;
  for (size_t count : {size_t{1}, size_t{1025}}) {
    RETURN_IF_ERROR((CheckTypes<float, __half>(**comm, stream->get(), count, &checked)));
    if (flags.quick) continue;
    RETURN_IF_ERROR(
        (CheckTypes<double, int32_t, int64_t, uint8_t, int8_t, uint32_t, uint64_t, __nv_bfloat16>(
            **comm, stream->get(), count, &checked)));
    if (!HasFloat8()) continue;
    RETURN_IF_ERROR(
        (CheckTypes<__nv_fp8_e4m3, __nv_fp8_e5m2>(**comm, stream->get(), count, &checked)));
  }
  // A count that NCCL cuts into pieces.
  if (!flags.quick) {
    RETURN_IF_ERROR(CheckTypes<float>(**comm, stream->get(), flags.max_bytes / 32, &checked));
  }
  if (job.is_main()) std::cout << checked << " results are those of the CPU" << std::endl;
  return absl::OkStatus();
}

}  // namespace muster::gpu
