// Communicators that are made of others.

#include <unistd.h>

#include <optional>
#include <vector>

#include "tests/client/nccl/device_memory.h"
#include "tests/client/nccl/scenario.h"

namespace muster::testing {
namespace {

// The sum over the communicator's ranks of 1, as a check that it works and has that size.
absl::Status ExpectWorks(NcclCommunicator& comm, int size) {
  RETURN_IF_ERROR(Expect(comm.size() == size, absl::StrCat("its size is ", comm.size())));
  const Stream stream;
  const DeviceMemory data(DataType::kInt32, {1});
  RETURN_IF_ERROR(
      comm.AllReduce(data.get(), data.get(), 1, DataType::kInt32, ReduceOp::kSum, stream.get()));
  RETURN_IF_ERROR(comm.Wait(stream.get()));
  return Expect(data.numbers() == std::vector<double>{static_cast<double>(size)}, "its sum");
}

}  // namespace

// Four ranks: {2, 0}, {1}, and rank 3 in none; then a split of a split.
absl::Status Splits(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  std::optional<Group> part;
  if (job.rank() == 0 || job.rank() == 2) part = *job.NewGroup("even", {2, 0});
  if (job.rank() == 1) part = *job.NewGroup("one", {1});
  auto split = (*comm)->Split(part);
  RETURN_IF_ERROR(split.status());
  RETURN_IF_ERROR(Expect((*split == nullptr) == (job.rank() == 3), "who is in no part"));
  if (*split != nullptr) {
    RETURN_IF_ERROR(Expect((*split)->rank() == part->rank(), "the rank in the part"));
    RETURN_IF_ERROR(ExpectWorks(**split, part->size()));
  }
  if (job.rank() % 2 == 0) {
    auto again = (*split)->Split(*job.NewGroup("even again", {0, 2}));
    RETURN_IF_ERROR(again.status());
    RETURN_IF_ERROR(ExpectWorks(**again, 2));
  }
  RETURN_IF_ERROR(ExpectWorks(**comm, job.world_size()));
  return job.Barrier("splits");
}

}  // namespace muster::testing
