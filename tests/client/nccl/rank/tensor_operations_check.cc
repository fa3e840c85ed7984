// A scenario over the interface that Communicator and NcclCommunicator share.

#include <vector>

#include "muster/tensor_operations.h"
#include "tests/client/nccl/rank/checked_device_memory.h"
#include "tests/client/nccl/rank/nccl_scenario.h"

namespace muster::testing {
namespace {

// Bytes on the device, with the caller's stream. Only the operations wait for that stream.
class Bytes {
 public:
  Bytes(size_t count, int value, cudaStream_t stream)
      : memory_(DataType::kUint8, std::vector<double>(count)), count_(count) {
    CheckCuda(cudaMemsetAsync(memory_.get(), value, count, stream));
  }

  MutableTensorView view() const {
    return {DataType::kUint8, {static_cast<int64_t>(count_)}, memory_.get(), count_};
  }

  absl::Status Expect(int value, const std::string& what) const {
    return testing::Expect(memory_.numbers() == std::vector<double>(count_, value), what);
  }

 private:
  const DeviceMemory memory_;
  const size_t count_;
};

}  // namespace

absl::Status CheckTensorOperations(TensorOperations& comm) {
  const Stream stream;
  const size_t n = comm.size();
  const int sum = comm.size();
  CallOptions options;
  options.stream = stream.get();
  const Bytes one(10, 1, stream.get()), result(10, 0, stream.get());
  const Bytes many(10 * n, 1, stream.get()), all(10 * n, 0, stream.get());
  RETURN_IF_ERROR(comm.AllReduce(one.view(), result.view(), ReduceOp::kSum, options));
  RETURN_IF_ERROR(result.Expect(sum, "AllReduce"));
  RETURN_IF_ERROR(comm.Broadcast(one.view(), 0, options));
  RETURN_IF_ERROR(comm.Reduce(one.view(), result.view(), ReduceOp::kMax, 0, options));
  RETURN_IF_ERROR(result.Expect(comm.rank() == 0 ? 1 : sum, "Reduce"));
  RETURN_IF_ERROR(comm.ReduceScatter(many.view(), result.view(), ReduceOp::kSum, options));
  RETURN_IF_ERROR(result.Expect(sum, "ReduceScatter"));
  RETURN_IF_ERROR(comm.AllGather(one.view(), all.view(), options));
  RETURN_IF_ERROR(all.Expect(1, "AllGather"));
  RETURN_IF_ERROR(comm.AllGather(result.view(), std::vector<size_t>(n, 10), all.view(), options));
  RETURN_IF_ERROR(all.Expect(sum, "AllGather by counts"));
  RETURN_IF_ERROR(comm.AllToAll(many.view(), all.view(), options));
  RETURN_IF_ERROR(all.Expect(1, "AllToAll"));
  const MutableTensorView both[] = {one.view(), many.view()};
  RETURN_IF_ERROR(comm.AllReduceCoalesced(both, ReduceOp::kSum, options));
  RETURN_IF_ERROR(many.Expect(sum, "AllReduceCoalesced"));
  const int right = (comm.rank() + 1) % comm.size();
  const int left = (comm.rank() + comm.size() - 1) % comm.size();
  RETURN_IF_ERROR(comm.SendRecv(many.view(), right, all.view(), left, options));
  RETURN_IF_ERROR(all.Expect(sum, "SendRecv"));
  const Bytes few(5, 3, stream.get()), from_left(10, 0, stream.get()),
      from_right(5, 0, stream.get());
  if (n > 1) {
    const OutgoingTensor sends[] = {{one.view(), right}, {few.view(), left}};
    const IncomingTensor receives[] = {{from_left.view(), left}, {from_right.view(), right}};
    RETURN_IF_ERROR(comm.SendRecv(sends, receives, options));
    RETURN_IF_ERROR(from_left.Expect(sum, "SendRecv of many, from the left"));
    RETURN_IF_ERROR(from_right.Expect(3, "SendRecv of many, from the right"));
  }
  const absl::Status refused = comm.AllReduce(one.view(), all.view(), ReduceOp::kSum, options);
  if (n == 1) return refused;
  RETURN_IF_ERROR(Expect(absl::IsInvalidArgument(refused), refused.ToString()));
  if (n != 2) return absl::OkStatus();
  return comm.rank() == 0 ? comm.Send(one.view(), 1, options) : comm.Recv(one.view(), 0, options);
}

}  // namespace muster::testing
