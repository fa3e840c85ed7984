// Scenarios of calls that are rejected before NCCL sees them. The communicator stays usable.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

absl::Status ExpectCode(const absl::Status& status, absl::StatusCode code) {
  return Expect(status.code() == code,
                absl::StrCat("not refused as it should be: ", status.ToString()));
}

// Calls in a fork. NCCL works only in the process that initialized it.
absl::Status InFork(NcclCommunicator& comm, void* data, cudaStream_t stream) {
  const pid_t pid = fork();
  if (pid == 0) {
    const absl::Status calls[] = {
        comm.AllReduce(data, data, 1, DataType::kFloat32, ReduceOp::kSum, stream),
        comm.Grouped([](NcclCommunicator&) { return absl::OkStatus(); }),
        comm.Wait(stream),
    };
    const bool refused = std::all_of(std::begin(calls), std::end(calls), [](const auto& status) {
      return absl::IsFailedPrecondition(status);
    });
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return Expect(status == 0, absl::StrCat("the fork ended with ", status));
}

}  // namespace

absl::Status Refusals(Job& job, const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  RETURN_IF_ERROR(comm.status());
  NcclCommunicator& self = **comm;
  const Stream stream;
  const DeviceMemory data(DataType::kFloat32, {1, 2});
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto kNoType = static_cast<DataType>(99);
  const auto kNoOp = static_cast<ReduceOp>(99);
  void* const p = data.get();
  cudaStream_t const s = stream.get();
  RETURN_IF_ERROR(ExpectCode(self.AllReduce(p, p, 2, kNoType, ReduceOp::kSum, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.AllReduce(p, p, 2, DataType::kFloat32, kNoOp, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(
      self.Reduce(p, p, 2, DataType::kFloat32, ReduceOp::kSum, self.size(), s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.Broadcast(p, p, 2, DataType::kFloat32, -1, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.Send(p, 2, DataType::kFloat32, self.size(), s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.Recv(p, 2, DataType::kFloat32, -1, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.SendRecv(p, 1, 0, p, 1, 99, DataType::kFloat32, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.AllToAll(p, p, 1, kNoType, s), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.AllGather(p, {1}, p, DataType::kFloat32, s), kInvalid));
  const AllReducePart wrong[] = {{p, p, 2, DataType::kFloat32}, {p, p, 2, kNoType}};
  RETURN_IF_ERROR(ExpectCode(self.AllReduce(wrong, ReduceOp::kSum, s), kInvalid));
  cudaStream_t const t = cudaStreamPerThread;
  RETURN_IF_ERROR(
      ExpectCode(self.AllReduce(p, p, 2, DataType::kFloat32, ReduceOp::kSum, t), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.Send(p, 2, DataType::kFloat32, 0, t), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.SendRecv(p, 1, 0, p, 1, 0, DataType::kFloat32, t), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.AllToAll(p, p, 1, DataType::kFloat32, t), kInvalid));
  const AllReducePart right[] = {{p, p, 2, DataType::kFloat32}};
  RETURN_IF_ERROR(ExpectCode(self.AllReduce(right, ReduceOp::kSum, t), kInvalid));
  CallOptions per_thread;
  per_thread.stream = t;
  const MutableTensorView view{DataType::kFloat32, {2}, p, 2 * sizeof(float)};
  RETURN_IF_ERROR(ExpectCode(self.Broadcast(view, 0, per_thread), kInvalid));
  CallOptions endless;
  endless.timeout = absl::InfiniteDuration();
  RETURN_IF_ERROR(ExpectCode(self.Wait(s, endless), kInvalid));
  RETURN_IF_ERROR(ExpectCode(self.Split(job.world(), endless).status(), kInvalid));
  RETURN_IF_ERROR(InFork(self, p, s));
  RETURN_IF_ERROR(self.health());
  RETURN_IF_ERROR(self.AllReduce(p, p, 2, DataType::kFloat32, ReduceOp::kSum, s));
  RETURN_IF_ERROR(self.Wait(s));
  return job.Barrier("refusals");
}

}  // namespace muster::testing
