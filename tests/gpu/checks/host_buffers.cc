#include <iostream>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "muster/communicator.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"

namespace muster::gpu {
namespace {

template <class T>
absl::Span<const T> Const(const std::vector<T>& values) {
  return values;
}

template <class T>
absl::Status CheckHost(Communicator& comm, size_t count) {
  const std::string of = absl::StrCat(" of ", count, " ", TypeInfo<T>::kName, " in host memory");
  const std::vector<T> input = InputsOf<T>(comm.rank(), count);
  std::vector<T> data = input;
  RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(data)));
  RETURN_IF_ERROR(ExpectEqual(data, ReducedOf<T>(comm.size(), 0, count, ReduceOp::kSum),
                              absl::StrCat("all-reduce", of)));
  data = input;
  RETURN_IF_ERROR(comm.Broadcast(absl::MakeSpan(data), comm.size() - 1));
  RETURN_IF_ERROR(
      ExpectEqual(data, InputsOf<T>(comm.size() - 1, count), absl::StrCat("broadcast", of)));
  std::vector<T> gathered(count * comm.size());
  RETURN_IF_ERROR(comm.AllGather(Const(input), absl::MakeSpan(gathered)));
  std::vector<T> expected;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::vector<T> theirs = InputsOf<T>(rank, count);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  return ExpectEqual(gathered, expected, absl::StrCat("all-gather", of));
}

template <class T>
absl::Status CheckDevice(Communicator& comm, size_t count) {
  const absl::StatusOr<DeviceArray<T>> data = DeviceArray<T>::Of(InputsOf<T>(comm.rank(), count));
  if (!data.ok()) return data.status();
  RETURN_IF_ERROR(comm.AllReduce(absl::MakeSpan(data->data(), count)));
  return ExpectEqual(
      data->Values(), ReducedOf<T>(comm.size(), 0, count, ReduceOp::kSum),
      absl::StrCat("all-reduce of ", count, " ", TypeInfo<T>::kName, " in device memory"));
}

// Reduces many buffers, like the gradients of a model.
absl::Status CheckMany(Communicator& comm) {
  const std::vector<size_t> counts = {1, 64, 640, 10};
  std::vector<std::vector<float>> buffers;
  for (size_t count : counts) buffers.push_back(InputsOf<float>(comm.rank(), count));
  std::vector<absl::Span<float>> spans;
  for (std::vector<float>& buffer : buffers) spans.push_back(absl::MakeSpan(buffer));
  RETURN_IF_ERROR(comm.AllReduceCoalesced<float>(spans, ReduceOp::kAverage));
  for (size_t i = 0; i < counts.size(); ++i) {
    RETURN_IF_ERROR(ExpectEqual(buffers[i],
                                ReducedOf<float>(comm.size(), 0, counts[i], ReduceOp::kAverage),
                                absl::StrCat("buffer ", i, " of a coalesced all-reduce")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckHostBuffers(Job& job, const RankFlags& flags) {
  CommunicatorOptions options;
  options.backend = "nccl";
  const auto comm = Communicator::Create(job, options);
  if (!comm.ok()) return comm.status();
  if ((*comm)->backend() != "nccl") {
    return absl::InternalError(absl::StrCat("the backend is ", (*comm)->backend(), ", not nccl"));
  }
  for (size_t count : {size_t{1}, size_t{1000}, flags.max_bytes / 32}) {
    RETURN_IF_ERROR(CheckHost<float>(**comm, count));
    RETURN_IF_ERROR(CheckHost<int64_t>(**comm, count));
    RETURN_IF_ERROR(CheckDevice<float>(**comm, count));
    RETURN_IF_ERROR(CheckDevice<__half>(**comm, count));
  }
  RETURN_IF_ERROR(CheckMany(**comm));
  return (*comm)->Barrier();
}

}  // namespace muster::gpu
