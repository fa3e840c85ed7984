#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu/checks/gpu_checks.h"
#include "tests/gpu/checks/typed.h"

namespace muster::gpu {
namespace {

constexpr size_t kCount = 1000;

absl::Status CheckManyBuffers(NcclCommunicator& comm, cudaStream_t stream) {
  std::vector<DeviceArray<float>> arrays;
  std::vector<AllReducePart> buffers;
  for (size_t count : {1, 64, 640, 10}) {
    absl::StatusOr<DeviceArray<float>> array =
        DeviceArray<float>::Of(InputsOf<float>(comm.rank(), count));
    if (!array.ok()) return array.status();
    buffers.push_back({array->data(), array->data(), count, DataType::kFloat32});
    arrays.push_back(*std::move(array));
  }
  RETURN_IF_ERROR(comm.AllReduce(buffers, ReduceOp::kAverage, stream));
  RETURN_IF_ERROR(comm.Wait(stream));
  for (const DeviceArray<float>& array : arrays) {
    RETURN_IF_ERROR(ExpectEqual(
        array.Values(), ReducedOf<float>(comm.size(), 0, array.size(), ReduceOp::kAverage),
        absl::StrCat("a buffer of ", array.size(), " in an all-reduce of many")));
  }
  return absl::OkStatus();
}

// Checks the two halves of the world, at the same time.
absl::Status CheckSplit(Job& job, NcclCommunicator& comm, cudaStream_t stream) {
  const bool upper = job.rank() >= job.world_size() / 2;
  std::vector<int> ranks;
  for (int rank = 0; rank < job.world_size(); ++rank) {
    if ((rank >= job.world_size() / 2) == upper) ranks.push_back(rank);
  }
  const absl::StatusOr<Group> half = job.NewGroup(upper ? "upper half" : "lower half", ranks);
  if (!half.ok()) return half.status();
  const auto part = comm.Split(*half);
  if (!part.ok()) return part.status();
  if ((*part)->size() != static_cast<int>(ranks.size())) {
    return absl::InternalError(absl::StrCat("Split() made a communicator of ", (*part)->size()));
  }
  return CheckAllReduce(**part, kCount, stream, "all-reduce of a half");
}

}  // namespace

absl::Status CheckGroups(Job& job, const RankFlags&) {
  const auto comm = NcclCommunicator::Create(job);
  if (!comm.ok()) return comm.status();
  const auto stream = Stream::Make();
  if (!stream.ok()) return stream.status();
  RETURN_IF_ERROR(CheckManyBuffers(**comm, stream->get()));
  if (job.world_size() == 1) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSplit(job, **comm, stream->get()));
  return CheckAllReduce(**comm, kCount, stream->get(), "all-reduce of all after Split");
}

}  // namespace muster::gpu
