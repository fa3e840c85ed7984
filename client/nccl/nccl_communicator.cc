#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/bootstrap.h"
#include "client/nccl/caller_stream.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/communicator/wait.h"
#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/nccl_types.h"
#include "client/nccl/drain.h"
#include "client/nccl/own_value.h"
#include "client/src/data_plane/argument_check.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::CallGuarded;
using internal::CheckStream;
using internal::CopyOwn;
using internal::DescribeOperation;
using internal::NcclHandle;
using internal::OwnValue;
using internal::ScopedDevice;

ArgumentCheck Check(const NcclHandle& handle, absl::string_view operation) {
  return ArgumentCheck(operation, handle.rank(), handle.size());
}

absl::Status CheckOp(const NcclHandle& handle, absl::string_view operation, ReduceOp op,
                     DataType type) {
  absl::Status arguments = Check(handle, operation).Op(op, type);
  return arguments.ok() ? internal::NcclOp(op).status() : arguments;
}

const void* RankPart(const void* data, size_t bytes, int rank) {
  return static_cast<const char*>(data) + bytes * rank;
}

// Calls `call` with NCCL's type. Returns an error, without a call, if `arguments` is one, or if
// NCCL lacks the type or the stream cannot be used.
absl::Status Operate(NcclHandle& handle, const std::string& what, const absl::Status& arguments,
                     DataType type, cudaStream_t stream,
                     absl::FunctionRef<ncclResult_t(ncclComm_t, ncclDataType_t)> call) {
  if (!arguments.ok()) return arguments;
  if (absl::Status status = CheckStream(handle, what, stream); !status.ok()) return status;
  const absl::StatusOr<ncclDataType_t> nccl_type = internal::NcclType(type);
  if (!nccl_type.ok()) return nccl_type.status();
  const ScopedDevice current(handle.device().index);
  return handle.Operate(what, [&](ncclComm_t comm) { return call(comm, *nccl_type); });
}

// Runs a collective as above. Inside a PreventBlock scope, copies `own` instead and does not wait.
absl::Status Collective(NcclHandle& handle, const std::string& what, const absl::Status& arguments,
                        DataType type, const OwnValue& own, cudaStream_t stream,
                        absl::FunctionRef<ncclResult_t(ncclComm_t, ncclDataType_t)> call) {
  if (!handle.group().prevents_block()) {
    return Operate(handle, what, arguments, type, stream, call);
  }
  absl::Status status = arguments;
  status.Update(CheckStream(handle, what, stream));
  return status.ok() ? CopyOwn(handle, own, stream) : status;
}

}  // namespace

absl::StatusOr<std::unique_ptr<NcclCommunicator>> NcclCommunicator::Create(
    const Group& group, const NcclOptions& options) {
  absl::StatusOr<std::shared_ptr<NcclHandle>> handle =
      internal::Bootstrap(group, options, [] { return absl::OkStatus(); });
  if (!handle.ok()) return handle.status();
  return std::make_unique<NcclCommunicator>(*std::move(handle));
}

NcclCommunicator::NcclCommunicator(std::shared_ptr<NcclHandle> handle)
    : handle_(std::move(handle)) {}

NcclCommunicator::~NcclCommunicator() {
  const ScopedDevice current(device());
  const internal::Deadline deadline(handle_->timeout(), nullptr);
  internal::Drain(*handle_, deadline);
  handle_->Close(deadline);
}

int NcclCommunicator::rank() const { return handle_->rank(); }
int NcclCommunicator::size() const { return handle_->size(); }
int NcclCommunicator::device() const { return handle_->device().index; }
absl::Status NcclCommunicator::health() const { return handle_->health(); }

absl::Status NcclCommunicator::WithHandle(absl::FunctionRef<ncclResult_t(ncclComm_t)> call,
                                          const CallOptions& options) {
  if (absl::Status status = Check(*handle_, "WithHandle").Timeout(options.timeout); !status.ok()) {
    return status;
  }
  const ScopedDevice current(device());
  absl::Status thrown;
  absl::Status status =
      handle_->Operate("WithHandle", DeadlineOf(*handle_, options), [&](ncclComm_t comm) {
        ncclResult_t result = ncclSuccess;
        thrown = CallGuarded("WithHandle", [&] {
          result = call(comm);
          return absl::OkStatus();
        });
        return result;
      });
  return status.ok() ? thrown : status;
}

absl::Status NcclCommunicator::AllReduce(const void* in, void* out, size_t count, DataType type,
                                         ReduceOp op, cudaStream_t stream) {
  return Collective(*handle_, DescribeOperation("AllReduce", count, type, op),
                    CheckOp(*handle_, "AllReduce", op, type), type, {in, out, count * SizeOf(type)},
                    stream, [&](ncclComm_t comm, ncclDataType_t nccl_type) {
                      return ncclAllReduce(in, out, count, nccl_type, *internal::NcclOp(op), comm,
                                           stream);
                    });
}

absl::Status NcclCommunicator::Broadcast(const void* in, void* out, size_t count, DataType type,
                                         int root, cudaStream_t stream) {
  const OwnValue own = rank() == root ? OwnValue{in, out, count * SizeOf(type)} : OwnValue{};
  return Collective(*handle_,
                    absl::StrCat(DescribeOperation("Broadcast", count, type), " from rank ", root),
                    Check(*handle_, "Broadcast").Root(root), type, own, stream,
                    [&](ncclComm_t comm, ncclDataType_t nccl_type) {
                      return ncclBroadcast(in, out, count, nccl_type, root, comm, stream);
                    });
}

absl::Status NcclCommunicator::Reduce(const void* in, void* out, size_t count, DataType type,
                                      ReduceOp op, int root, cudaStream_t stream) {
  absl::Status arguments = CheckOp(*handle_, "Reduce", op, type);
  if (arguments.ok()) arguments = Check(*handle_, "Reduce").Root(root);
  const OwnValue own = rank() == root ? OwnValue{in, out, count * SizeOf(type)} : OwnValue{};
  return Collective(
      *handle_, absl::StrCat(DescribeOperation("Reduce", count, type, op), " to rank ", root),
      arguments, type, own, stream, [&](ncclComm_t comm, ncclDataType_t nccl_type) {
        return ncclReduce(in, out, count, nccl_type, *internal::NcclOp(op), root, comm, stream);
      });
}

absl::Status NcclCommunicator::AllGather(const void* in, void* out, size_t count, DataType type,
                                         cudaStream_t stream) {
  const size_t part = count * SizeOf(type);
  const OwnValue own = {in, const_cast<void*>(RankPart(out, part, rank())), part};
  return Collective(*handle_, DescribeOperation("AllGather", count, type), absl::OkStatus(), type,
                    own, stream, [&](ncclComm_t comm, ncclDataType_t nccl_type) {
                      return ncclAllGather(in, out, count, nccl_type, comm, stream);
                    });
}

absl::Status NcclCommunicator::ReduceScatter(const void* in, void* out, size_t count, DataType type,
                                             ReduceOp op, cudaStream_t stream) {
  const size_t part = count * SizeOf(type);
  return Collective(
      *handle_, DescribeOperation("ReduceScatter", count, type, op),
      CheckOp(*handle_, "ReduceScatter", op, type), type, {RankPart(in, part, rank()), out, part},
      stream, [&](ncclComm_t comm, ncclDataType_t nccl_type) {
        return ncclReduceScatter(in, out, count, nccl_type, *internal::NcclOp(op), comm, stream);
      });
}

absl::Status NcclCommunicator::Send(const void* data, size_t count, DataType type, int peer,
                                    cudaStream_t stream) {
  return Operate(*handle_, absl::StrCat(DescribeOperation("Send", count, type), " to rank ", peer),
                 Check(*handle_, "Send").Peer(peer), type, stream,
                 [&](ncclComm_t comm, ncclDataType_t nccl_type) {
                   return ncclSend(data, count, nccl_type, peer, comm, stream);
                 });
}

absl::Status NcclCommunicator::Recv(void* data, size_t count, DataType type, int peer,
                                    cudaStream_t stream) {
  return Operate(*handle_,
                 absl::StrCat(DescribeOperation("Recv", count, type), " from rank ", peer),
                 Check(*handle_, "Recv").Peer(peer), type, stream,
                 [&](ncclComm_t comm, ncclDataType_t nccl_type) {
                   return ncclRecv(data, count, nccl_type, peer, comm, stream);
                 });
}

absl::Status NcclCommunicator::AllReduce(absl::Span<const AllReducePart> buffers, ReduceOp op,
                                         cudaStream_t stream) {
  absl::Status arguments;
  for (const AllReducePart& buffer : buffers) {
    arguments.Update(CheckOp(*handle_, "AllReduce", op, buffer.type));
    arguments.Update(internal::NcclType(buffer.type).status());
  }
  arguments.Update(CheckStream(*handle_, "AllReduce", stream));
  if (!arguments.ok()) return arguments;
  return Grouped([&](NcclCommunicator& self) {
    for (const AllReducePart& buffer : buffers) {
      absl::Status status =
          self.AllReduce(buffer.in, buffer.out, buffer.count, buffer.type, op, stream);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

absl::Status NcclCommunicator::Grouped(absl::FunctionRef<absl::Status(NcclCommunicator&)> calls) {
  const ScopedDevice current(device());
  return handle_->Grouped([&] { return calls(*this); });
}

absl::Status NcclCommunicator::Wait(cudaStream_t stream, const CallOptions& options) {
  if (absl::Status status = Check(*handle_, "Wait").Timeout(options.timeout); !status.ok()) {
    return status;
  }
  const ScopedDevice current(device());  // null means this device's default stream
  return internal::AwaitStream(*handle_, stream, "waiting for the stream",
                               DeadlineOf(*handle_, options));
}

}  // namespace muster
