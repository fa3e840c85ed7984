// Scenarios that create and destroy communicators many times, to find leaks.

#include <dirent.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/held_resources.h"
#include "tests/client/nccl/rank/nccl_scenario.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kSettle = absl::Seconds(30);

int EntriesOf(const char* directory) {
  DIR* const open = opendir(directory);
  int entries = 0;
  while (readdir(open) != nullptr) ++entries;
  closedir(open);
  return entries;
}

// The most by which the kernel's count may differ, since gRPC's pool of threads grows and shrinks.
constexpr int kGrpcSlack = 5;
int FilesAndThreads() { return EntriesOf("/proc/self/fd") + EntriesOf("/proc/self/task"); }

// Broadcasts. The root ends its communicator as soon as it has sent.
absl::Status BroadcastAndEnd(Job& job, int root) {
  constexpr size_t kCount = 1 << 14;
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, std::vector<double>(kCount, job.rank()));
  RETURN_IF_ERROR(
      (*comm)->Broadcast(data.get(), data.get(), kCount, DataType::kFloat32, root, stream.get()));
  RETURN_IF_ERROR((*comm)->Wait(stream.get()));
  return Expect(data.numbers() == std::vector<double>(kCount, root),
                "the values are not the root's");
}

absl::Status Round(Job& job, const Arguments& arguments, int index) {
  if (arguments.Has("broadcast")) return BroadcastAndEnd(job, index % job.world_size());
  if (arguments.Has("host")) {
    auto comm = Communicator::Create(job);
    RETURN_IF_ERROR(comm.status());
    std::vector<float> data(10, 1);
    return (*comm)->AllReduce(absl::MakeSpan(data));
  }
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, {1, 2, 3});
  RETURN_IF_ERROR((*comm)->AllReduce(data.get(), data.get(), 3, DataType::kFloat32, ReduceOp::kSum,
                                     stream.get()));
  return (*comm)->Wait(stream.get());
}

}  // namespace

absl::Status Rounds(Job& job, const Arguments& arguments) {
  RETURN_IF_ERROR(Round(job, arguments, 0));  // makes what is made once and kept
  RETURN_IF_ERROR(job.Barrier("the first round"));
  WaitUntil([] { return NcclThreads() == 0; }, kSettle);
  const std::string before = HeldResources();
  const int kept = FilesAndThreads();
  for (int i = 0; i < arguments.Int("rounds", 100); ++i) {
    RETURN_IF_ERROR(Round(job, arguments, i));
  }
  RETURN_IF_ERROR(job.Barrier("the last round"));
  const auto same = [&] {
    return HeldResources() == before && FilesAndThreads() <= kept + kGrpcSlack;
  };
  const bool settled = WaitUntil(same, kSettle);
  return Expect(settled, absl::StrCat("before: ", before, ", files and threads ", kept, "\nafter: ",
                                      HeldResources(), ", files and threads ", FilesAndThreads()));
}

}  // namespace muster::testing
