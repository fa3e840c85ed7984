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

std::vector<int> AllBut(const Job& job, int excluded) {
  std::vector<int> ranks;
  for (int rank = 0; rank < job.world_size(); ++rank) {
    if (rank != excluded) ranks.push_back(rank);
  }
  return ranks;
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

absl::Status Shrinks(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const int excluded = 1;
  if (job.rank() != excluded) {
    auto group = job.NewGroup("remaining", AllBut(job, excluded));
    auto shrunk = (*comm)->Shrink(*group);
    RETURN_IF_ERROR(shrunk.status());
    RETURN_IF_ERROR(ExpectWorks(**shrunk, job.world_size() - 1));
  }
  return job.Barrier("shrinks");
}

// The survivors of a loss go on in the next epoch, and shrink the communicator of the first one.
absl::Status ShrinksAfterLoss(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const int all = job.world_size();
  RETURN_IF_ERROR(ExpectWorks(**comm, all));
  RETURN_IF_ERROR(job.Barrier("before the loss"));
  if (job.rank() == 1) {
    Print("waits to be killed");
    return job.AwaitFailure(absl::Minutes(1));
  }
  const absl::Status lost = ExpectWorks(**comm, all);
  Print(absl::StrCat("lost: ", lost.ToString()));
  RETURN_IF_ERROR(job.Rejoin());
  auto shrunk = (*comm)->Shrink(job.world());
  RETURN_IF_ERROR(shrunk.status());
  RETURN_IF_ERROR(ExpectWorks(**shrunk, all - 1));
  RETURN_IF_ERROR(Expect((*comm)->health() == lost, "the old one keeps its error"));
  return job.Barrier("shrunk");
}

}  // namespace muster::testing
