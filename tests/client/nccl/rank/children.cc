// Scenarios of communicators that are made from others.

#include <unistd.h>

#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

// Checks by an all-reduce of ones that the communicator works and has this size.
absl::Status ExpectWorks(NcclCommunicator& comm, int size) {
  RETURN_IF_ERROR(Expect(comm.size() == size, absl::StrCat("its size is ", comm.size())));
  const Stream stream;
  const DeviceMemory data(DataType::kInt32, {1});
  RETURN_IF_ERROR(
      comm.AllReduce(data.get(), data.get(), 1, DataType::kInt32, ReduceOp::kSum, stream.get()));
  RETURN_IF_ERROR(comm.Wait(stream.get()));
  return Expect(data.numbers() == std::vector<double>{static_cast<double>(size)}, "its sum");
}

constexpr size_t kCount = 1 << 14;

NcclOptions SharingOptions(const Arguments& arguments) {
  NcclOptions options = OptionsOf(arguments);
  if (arguments.Has("configured")) options.config.splitShare = 1;
  return options;
}

absl::Status Enqueue(NcclCommunicator& comm, const DeviceMemory& data, const Stream& stream) {
  return comm.AllReduce(data.get(), data.get(), kCount, DataType::kInt32, ReduceOp::kSum,
                        stream.get());
}

// Checks that `other` has ended together with the communicator with which it shares resources.
absl::Status ExpectEndedWith(NcclCommunicator& other, const Stream& stream) {
  const absl::Status status = other.Wait(stream.get());
  Print(absl::StrCat("the other ended: ", status.ToString()));
  RETURN_IF_ERROR(Expect(absl::StrContains(status.message(), "share resources"),
                         absl::StrCat("the other's end: ", status.ToString())));
  return Expect(other.health() == status, "the other's health");
}

// Checks that `other` goes on. The last rank joins its all-reduce only now.
absl::Status ExpectGoesOn(Job& job, NcclCommunicator& other, const DeviceMemory& data,
                          const Stream& stream) {
  const bool last = job.rank() == job.world_size() - 1;
  if (last) RETURN_IF_ERROR(Enqueue(other, data, stream));
  RETURN_IF_ERROR(other.Wait(stream.get()));
  Print("the other goes on");
  const std::vector<double> sums(kCount, job.world_size());
  return Expect(data.numbers() == sums, "the other's sum");
}

}  // namespace

// Runs all-reduces on a parent and on a child, to which the last rank does not come. The
// communicator that `ends` names, "child" or "parent", ends by its time-out. configured=1: they
// share resources by the configuration. together=1: they share resources in any way.
absl::Status EndOneOfTwo(Job& job, const Arguments& arguments) {
  auto parent = NcclCommunicator::Create(job, SharingOptions(arguments));
  RETURN_IF_ERROR(parent.status());
  auto child = (*parent)->Split(job.world());
  RETURN_IF_ERROR(child.status());
  const bool ends_child = arguments.Text("ends", "child") == "child";
  NcclCommunicator& ending = ends_child ? **child : **parent;
  NcclCommunicator& other = ends_child ? **parent : **child;
  const Stream ending_stream, other_stream;
  const DeviceMemory data(DataType::kInt32, std::vector<double>(kCount, 1));
  const DeviceMemory others(DataType::kInt32, std::vector<double>(kCount, 1));
  RETURN_IF_ERROR(job.Barrier("both are there"));
  if (job.rank() < job.world_size() - 1) {
    RETURN_IF_ERROR(Enqueue(other, others, other_stream));
    RETURN_IF_ERROR(Enqueue(ending, data, ending_stream));
    const absl::Status ended =
        ending.Wait(ending_stream.get(), CallOptions{absl::Seconds(1), nullptr});
    RETURN_IF_ERROR(Expect(absl::IsDeadlineExceeded(ended), ended.ToString()));
    if (arguments.Has("together")) RETURN_IF_ERROR(ExpectEndedWith(other, other_stream));
  }
  RETURN_IF_ERROR(job.Barrier("one has ended"));
  if (!arguments.Has("together")) {
    RETURN_IF_ERROR(ExpectGoesOn(job, other, others, other_stream));
  }
  return job.Barrier("the end");
}

// Ends a communicator beside one that NCCL never stops, whatever waits for it. The last rank does
// not come to either. The two share nothing, so the second one ends in time.
absl::Status EndBesideAHang(Job& job, const Arguments& arguments) {
  NcclOptions sharing = OptionsOf(arguments);
  sharing.config.splitShare = 1;  // so it is aborted instead of revoked
  auto hanging = NcclCommunicator::Create(job, sharing);
  RETURN_IF_ERROR(hanging.status());
  auto child = (*hanging)->Split(job.world());
  RETURN_IF_ERROR(child.status());
  auto other = NcclCommunicator::Create(job, OptionsOf(arguments));
  RETURN_IF_ERROR(other.status());
  const Stream stream, other_stream;
  const DeviceMemory data(DataType::kInt32, std::vector<double>(kCount, 1));
  const DeviceMemory others(DataType::kInt32, std::vector<double>(kCount, 1));
  if (job.rank() < job.world_size() - 1) {
    RETURN_IF_ERROR(Enqueue(**hanging, data, stream));
    RETURN_IF_ERROR(Enqueue(**other, others, other_stream));
    std::thread first([&] {
      (*hanging)->Wait(stream.get(), CallOptions{absl::Seconds(1), nullptr}).IgnoreError();
    });
    const absl::Status ended =
        (*other)->Wait(other_stream.get(), CallOptions{absl::Seconds(3), nullptr});
    Print(absl::StrCat("the second ended: ", ended.ToString()));
    first.join();
  }
  return job.Barrier("the end");
}

// Splits four ranks into {2, 0} and {1}, with rank 3 in no part, and then splits a part.
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
