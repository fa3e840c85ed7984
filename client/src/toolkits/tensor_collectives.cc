#include "muster/toolkits/tensor_collectives.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/base/reduction.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/communicator_access.h"
#include "client/src/toolkits/argument_agreement.h"
#include "client/src/toolkits/job_communicator.h"

namespace muster {
namespace {

using internal::Buffer;
using internal::CommunicatorAccess;
using internal::Deadline;
using internal::JobCommunicator;
using internal::RankArguments;

constexpr char kAllReduce[] = "AllReduce";
constexpr char kAllGather[] = "AllGather";
constexpr char kAverage[] = "AverageAcrossProcesses";

absl::Status CheckTensor(const TensorView& tensor) {
  if (SizeOf(tensor.type) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor's type is ",
                                                   static_cast<int>(tensor.type),
                                                   ", expected one of DataType's values"));
  }
  absl::Status status = CheckShape(tensor);
  status.Update(internal::CheckElements(tensor, tensor.type, SizeOf(tensor.type)));
  return status;
}

absl::Status CheckOp(const Job& job, ReduceOp op, DataType type) {
  return internal::ArgumentCheck(kAllReduce, job.rank(), job.world_size()).Op(op, type);
}

std::string WithOp(absl::string_view what, ReduceOp op) {
  return absl::StrCat(what, " (", NameOf(op), ")");
}

absl::StatusOr<RankArguments> ReductionArguments(const Job& job, const TensorView& tensor,
                                                 ReduceOp op) {
  absl::Status status = CheckTensor(tensor);
  status.Update(CheckOp(job, op, tensor.type));
  if (!status.ok()) return status;
  return RankArguments{{{"", WithOp(DescribeTensor(tensor), op)}}, ""};
}

absl::StatusOr<RankArguments> TensorArguments(
    const std::map<std::string, MutableTensorView>& tensors) {
  RankArguments arguments;
  for (const auto& [name, tensor] : tensors) {
    if (absl::Status status = CheckTensor(tensor); !status.ok()) {
      return internal::Reworded(status,
                                absl::StrCat(kAverage, ": '", name, "': ", status.message()));
    }
    arguments.items.emplace(name, DescribeTensor(tensor));
  }
  return arguments;
}

// Changes tensors in place by `move`. In a world of one rank or a PreventBlock scope, they already
// have their final values.
absl::Status ChangeInPlace(Job& job, absl::string_view operation,
                           const absl::StatusOr<RankArguments>& mine, const CallOptions& options,
                           CallSite site, JobCommunicator::Move move) {
  if (job.prevents_block()) return mine.status();
  if (job.world_size() == 1) {
    return internal::AgreeOnArguments(job.world(), operation, mine, options, site).status();
  }
  return JobCommunicator::Of(job)->Run(job, operation, mine, options, site, move);
}

// Does a bitwise reduction for a backend that has none: gathers the bytes piece by piece, and
// reduces them here.
absl::Status FoldBits(Communicator& communicator, const MutableTensorView& tensor, ReduceOp op,
                      const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  constexpr size_t kGathered = size_t{64} << 20;
  const size_t size = communicator.size();
  const size_t piece = std::min(tensor.num_bytes, std::max<size_t>(1, kGathered / size));
  const internal::ReduceFunction fold = internal::ReduceFunctionFor(DataType::kUint8, op);
  std::vector<char> all(piece * size);
  for (size_t begin = 0; begin < tensor.num_bytes; begin += piece) {
    char* const data = static_cast<char*>(tensor.data) + begin;
    const size_t bytes = std::min(piece, tensor.num_bytes - begin);
    CallOptions rest = options;
    absl::Status status = deadline.RunPart([&](absl::Duration left) {
      rest.timeout = left;
      return CommunicatorAccess::AllGather(communicator, data, all.data(), bytes, DataType::kUint8,
                                           rest);
    });
    for (size_t rank = 1; rank < size && status.ok(); ++rank) {
      fold(all.data(), all.data(), all.data() + rank * bytes, bytes);
    }
    if (status.ok()) status = CommunicatorAccess::Copy(communicator, all.data(), data, bytes, rest);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Reduce(Communicator& communicator, const MutableTensorView& tensor, ReduceOp op,
                    const CallOptions& options) {
  const absl::Status supported = CommunicatorAccess::CheckSupport(communicator, tensor.type, op);
  if (absl::IsUnimplemented(supported) && internal::IsBitwise(op)) {
    return FoldBits(communicator, tensor, op, options);
  }
  const Buffer buffer = {tensor.data, tensor.num_bytes / SizeOf(tensor.type)};
  return CommunicatorAccess::AllReduce(communicator, buffer, tensor.type, op, options);
}

// Averages the tensors, with one call for each type. Checks all types first, so that nothing
// changes if one is refused.
absl::Status Average(Communicator& communicator,
                     const std::map<std::string, MutableTensorView>& tensors,
                     const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  constexpr ReduceOp kOp = ReduceOp::kAverage;
  std::map<DataType, std::vector<Buffer>> by_type;
  for (const auto& [name, tensor] : tensors) {
    by_type[tensor.type].push_back({tensor.data, tensor.num_bytes / SizeOf(tensor.type)});
  }
  absl::Status status;
  for (const auto& one : by_type) {
    status.Update(CommunicatorAccess::CheckSupport(communicator, one.first, kOp));
  }
  CallOptions rest = options;
  for (const auto& [type, buffers] : by_type) {
    if (!status.ok()) return status;
    status = deadline.RunPart([&, type = type, &buffers = buffers](absl::Duration left) {
      rest.timeout = left;
      return CommunicatorAccess::AllReduceCoalesced(communicator, buffers, type, kOp, rest);
    });
  }
  return status;
}

absl::StatusOr<RankArguments> NumberArguments(const Job& job, const void* value, DataType type,
                                              ReduceOp op) {
  absl::Status status = CheckOp(job, op, type);
  if (status.ok()) status = internal::CheckReducible(type, op);
  if (!status.ok()) return status;
  return RankArguments{{{"", WithOp(absl::StrCat("a number of type ", NameOf(type)), op)}},
                       std::string(static_cast<const char*>(value), SizeOf(type))};
}

absl::StatusOr<RankArguments> PartArguments(const TensorView& tensor) {
  if (absl::Status status = CheckTensor(tensor); !status.ok()) return status;
  return RankArguments{{{"", DescribeTensor(tensor)}}, ""};
}

// Checks `all`, the memory for the result, too.
absl::StatusOr<RankArguments> PartArguments(const Job& job, const TensorView& tensor,
                                            const TensorView& all) {
  absl::StatusOr<RankArguments> arguments = PartArguments(tensor);
  if (!arguments.ok()) return arguments;
  if (absl::Status status = CheckTensor(all); !status.ok()) return status;
  if (all.type == tensor.type && all.num_bytes / job.world_size() == tensor.num_bytes &&
      all.num_bytes % job.world_size() == 0) {
    return arguments;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "AllGather: the place for all is ", DescribeTensor(all), ", expected it to be ",
      job.world_size(), " times as large as the tensor, which is ", DescribeTensor(tensor)));
}

std::vector<int64_t> WholeShape(std::vector<int64_t> shape, int ranks) {
  if (shape.empty()) shape.push_back(1);
  shape.front() *= ranks;
  return shape;
}

absl::Status GatherInto(Job& job, const TensorView& tensor,
                        const absl::StatusOr<RankArguments>& mine, void* all,
                        const CallOptions& options, CallSite site) {
  // Moves bytes, which every backend supports.
  return JobCommunicator::Of(job)->Run(job, kAllGather, mine, options, site,
                                       [&](Communicator& communicator, const CallOptions& rest) {
                                         return CommunicatorAccess::AllGather(
                                             communicator, tensor.data, all, tensor.num_bytes,
                                             DataType::kUint8, rest);
                                       });
}

}  // namespace

namespace internal {

absl::Status AllReduceNumber(Job& job, void* value, DataType type, ReduceOp op,
                             const CallOptions& options, CallSite site) {
  const absl::StatusOr<RankArguments> mine = NumberArguments(job, value, type, op);
  if (job.prevents_block()) return mine.status();
  const auto met = AgreeOnArguments(job.world(), kAllReduce, mine, options, site);
  if (!met.ok()) return met.status();
  std::memcpy(value, FoldElements(met->values, type, op).data(), SizeOf(type));
  return absl::OkStatus();
}

absl::Status AverageTensors(Job& job, const std::map<std::string, MutableTensorView>& tensors,
                            const CallOptions& options, CallSite site) {
  return ChangeInPlace(job, kAverage, TensorArguments(tensors), options, site,
                       [&](Communicator& communicator, const CallOptions& rest) {
                         return Average(communicator, tensors, rest);
                       });
}

}  // namespace internal

namespace toolkits {

absl::Status AllReduce(Job& job, const MutableTensorView& tensor, ReduceOp op,
                       const CallOptions& options, CallSite site) {
  return ChangeInPlace(job, kAllReduce, ReductionArguments(job, tensor, op), options, site,
                       [&](Communicator& communicator, const CallOptions& rest) {
                         return Reduce(communicator, tensor, op, rest);
                       });
}

absl::Status AllGather(Job& job, const TensorView& tensor, const MutableTensorView& all,
                       const CallOptions& options, CallSite site) {
  const absl::StatusOr<RankArguments> mine = PartArguments(job, tensor, all);
  if (!job.prevents_block()) return GatherInto(job, tensor, mine, all.data, options, site);
  if (!mine.ok()) return mine.status();
  char* const place = static_cast<char*>(all.data) + job.rank() * tensor.num_bytes;
  return JobCommunicator::Of(job)->Copy(tensor.data, place, tensor.num_bytes, options);
}

absl::StatusOr<OwnedTensor> AllGather(Job& job, const TensorView& tensor,
                                      const CallOptions& options, CallSite site) {
  const bool alone = job.prevents_block();
  const int ranks = alone ? 1 : job.world_size();
  absl::StatusOr<RankArguments> mine = PartArguments(tensor);
  const size_t bytes = mine.ok() ? ranks * tensor.num_bytes : 0;
  const std::shared_ptr<char[]> memory(new (std::nothrow) char[bytes]);
  if (memory == nullptr) {
    mine = absl::ResourceExhaustedError(absl::StrCat(
        "AllGather: there is no memory for the tensors of all ranks, ", bytes, " bytes"));
  }
  if (alone && !mine.ok()) return mine.status();
  const absl::Status status =
      alone ? JobCommunicator::Of(job)->Copy(tensor.data, memory.get(), bytes, options)
            : GatherInto(job, tensor, mine, memory.get(), options, site);
  if (!status.ok()) return status;
  return OwnedTensor{{tensor.type, WholeShape(tensor.shape, ranks), memory.get(), bytes}, memory};
}

}  // namespace toolkits
}  // namespace muster
