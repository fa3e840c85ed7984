// Scenarios of ranks whose peers stop NCCL in the middle of an operation. No rank may return what
// the peer's kernel has left behind as a result.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

// An operation on `count` elements of each rank, with its expected result.
struct Operation {
  std::function<absl::Status(NcclCommunicator&, const DeviceMemory& data, cudaStream_t)> enqueue;
  std::vector<double> before;
  std::vector<double> after;
};

Operation AllReduceOf(const Job& job, int count) {
  const int size = job.world_size();
  return {[=](NcclCommunicator& comm, const DeviceMemory& data, cudaStream_t stream) {
            return comm.AllReduce(data.get(), data.get(), count, DataType::kFloat32, ReduceOp::kSum,
                                  stream);
          },
          std::vector<double>(count, job.rank() + 1),
          std::vector<double>(count, size * (size + 1) / 2.0)};
}

Operation BroadcastOf(const Job& job, int count) {
  return {[=](NcclCommunicator& comm, const DeviceMemory& data, cudaStream_t stream) {
            return comm.Broadcast(data.get(), data.get(), count, DataType::kFloat32, 0, stream);
          },
          std::vector<double>(count, job.rank() + 1), std::vector<double>(count, 1)};
}

Operation AllGatherOf(const Job& job, int count) {
  std::vector<double> before(count * job.world_size(), -1);
  std::vector<double> after(before.size());
  const auto own = before.begin() + count * job.rank();
  std::fill(own, own + count, job.rank() + 1);
  for (int peer = 0; peer < job.world_size(); ++peer) {
    std::fill_n(after.begin() + count * peer, count, peer + 1);
  }
  const int rank = job.rank();
  return {[=](NcclCommunicator& comm, const DeviceMemory& data, cudaStream_t stream) {
            return comm.AllGather(data.at(count * rank), data.get(), count, DataType::kFloat32,
                                  stream);
          },
          before, after};
}

Operation OperationOf(const Job& job, const Arguments& arguments) {
  const int count = arguments.Int("count", 1000);
  const std::string name = arguments.Text("operation", "all-reduce");
  if (name == "broadcast") return BroadcastOf(job, count);
  return name == "all-gather" ? AllGatherOf(job, count) : AllReduceOf(job, count);
}

// Runs the operation. It may fail, but if it succeeds its values must be right.
absl::Status RunAndCheck(NcclCommunicator& comm, const Operation& operation, const Stream& stream,
                         const CallOptions& options = {}) {
  const DeviceMemory data(DataType::kFloat32, operation.before);
  absl::Status status = operation.enqueue(comm, data, stream.get());
  if (status.ok()) status = comm.Wait(stream.get(), options);
  if (!status.ok() && cudaStreamQuery(stream.get()) != cudaSuccess) {
    return absl::DataLossError(absl::StrCat("the kernel still runs after ", status.ToString()));
  }
  if (!status.ok() || data.numbers() == operation.after) return status;
  return absl::DataLossError("the operation is OK, and its values are wrong");
}

// Returns a communicator, or a split of it that has all of its ranks.
absl::StatusOr<std::unique_ptr<NcclCommunicator>> CommunicatorOf(Job& job,
                                                                 const Arguments& arguments) {
  auto comm = NcclCommunicator::Create(job);
  if (!comm.ok() || !arguments.Has("split")) return comm;
  return (*comm)->Split(job.world());
}

}  // namespace

// Rank absent=RANK does not come to the second operation. Rank first=RANK waits 1 s for it, and the
// others 60 s.
absl::Status GiveUpFirst(Job& job, const Arguments& arguments) {
  auto comm = CommunicatorOf(job, arguments);
  RETURN_IF_ERROR(comm.status());
  const Operation operation = OperationOf(job, arguments);
  const Stream stream;
  RETURN_IF_ERROR(RunAndCheck(**comm, operation, stream));
  RETURN_IF_ERROR(job.Barrier("before the second"));
  if (arguments.Int("absent", -1) != job.rank()) {
    CallOptions options;
    options.timeout = absl::Seconds(job.rank() == arguments.Int("first", -1) ? 1 : 60);
    const absl::Time start = absl::Now();
    const absl::Status status = RunAndCheck(**comm, operation, stream, options);
    Print(absl::StrCat("ended: ", status.ToString()));
    Print(absl::Now() - start < absl::Seconds(20) ? "in time" : "late");
    RETURN_IF_ERROR(Expect((*comm)->health() == status, "its health"));
  }
  return job.Barrier("the end", CallOptions{absl::Minutes(2), nullptr});
}

// Runs operations and checks their values until a rank is lost.
absl::Status OperateUntilLoss(Job& job, const Arguments& arguments) {
  auto comm = CommunicatorOf(job, arguments);
  RETURN_IF_ERROR(comm.status());
  const Operation operation = OperationOf(job, arguments);
  const Stream stream;
  absl::Status status;
  for (int i = 0; status.ok(); ++i) {
    status = RunAndCheck(**comm, operation, stream);
    if (i == 3) Print(absl::StrCat("rank ", job.rank(), " is at work"));
  }
  return status;
}

}  // namespace muster::testing
