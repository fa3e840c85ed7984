// The operations of NcclCommunicator on views of tensors. Each enqueues its operation on the
// caller's stream and waits for it.

#include <vector>

#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/cuda_device.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/views.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::CheckView;
using internal::CheckViews;
using internal::CountOf;

}  // namespace

absl::Status NcclCommunicator::Run(const absl::Status& arguments, const CallOptions& options,
                                   absl::FunctionRef<absl::Status(cudaStream_t)> enqueue) {
  if (!arguments.ok()) return arguments;
  const internal::ScopedDevice current(device());  // null means this device's default stream
  auto* const stream = static_cast<cudaStream_t>(options.stream);
  absl::Status status = enqueue(stream);
  return status.ok() ? Wait(stream, options) : status;
}

absl::Status NcclCommunicator::AllReduce(const TensorView& in, const MutableTensorView& out,
                                         ReduceOp op, const CallOptions& options) {
  absl::Status arguments = CheckViews("AllReduce", in, out);
  if (arguments.ok()) {
    arguments = ArgumentCheck("AllReduce", rank(), size()).SameSize(CountOf(in), CountOf(out));
  }
  return Run(arguments, options, [&](cudaStream_t stream) {
    return AllReduce(in.data, out.data, CountOf(in), in.type, op, stream);
  });
}

absl::Status NcclCommunicator::AllReduceCoalesced(absl::Span<const MutableTensorView> buffers,
                                                  ReduceOp op, const CallOptions& options) {
  absl::Status arguments;
  std::vector<AllReducePart> list;
  for (const MutableTensorView& buffer : buffers) {
    arguments.Update(CheckView("AllReduceCoalesced", buffer));
    if (arguments.ok()) list.push_back({buffer.data, buffer.data, CountOf(buffer), buffer.type});
  }
  return Run(arguments, options, [&](cudaStream_t stream) { return AllReduce(list, op, stream); });
}

absl::Status NcclCommunicator::Broadcast(const MutableTensorView& data, int root,
                                         const CallOptions& options) {
  return Run(CheckView("Broadcast", data), options, [&](cudaStream_t stream) {
    return Broadcast(data.data, data.data, CountOf(data), data.type, root, stream);
  });
}

absl::Status NcclCommunicator::Reduce(const TensorView& in, const MutableTensorView& out,
                                      ReduceOp op, int root, const CallOptions& options) {
  const bool is_root = rank() == root;
  absl::Status arguments = is_root ? CheckViews("Reduce", in, out) : CheckView("Reduce", in);
  if (arguments.ok() && is_root) {
    arguments = ArgumentCheck("Reduce", rank(), size()).SameSize(CountOf(in), CountOf(out));
  }
  return Run(arguments, options, [&](cudaStream_t stream) {
    return Reduce(in.data, out.data, CountOf(in), in.type, op, root, stream);
  });
}

absl::Status NcclCommunicator::AllGather(const TensorView& in, const MutableTensorView& out,
                                         const CallOptions& options) {
  absl::Status arguments = CheckViews("AllGather", in, out);
  if (arguments.ok()) {
    arguments =
        ArgumentCheck("AllGather", rank(), size()).Parts("out", CountOf(out), "in", CountOf(in));
  }
  return Run(arguments, options, [&](cudaStream_t stream) {
    return AllGather(in.data, out.data, CountOf(in), in.type, stream);
  });
}

absl::Status NcclCommunicator::AllGather(const TensorView& in, absl::Span<const size_t> counts,
                                         const MutableTensorView& out, const CallOptions& options) {
  absl::Status arguments = CheckViews("AllGather", in, out);
  if (arguments.ok()) {
    arguments =
        ArgumentCheck("AllGather", rank(), size()).Counts(counts, CountOf(in), CountOf(out));
  }
  return Run(arguments, options, [&](cudaStream_t stream) {
    return AllGather(in.data, counts, out.data, in.type, stream);
  });
}

absl::Status NcclCommunicator::ReduceScatter(const TensorView& in, const MutableTensorView& out,
                                             ReduceOp op, const CallOptions& options) {
  absl::Status arguments = CheckViews("ReduceScatter", in, out);
  if (arguments.ok()) {
    arguments = ArgumentCheck("ReduceScatter", rank(), size())
                    .Parts("in", CountOf(in), "out", CountOf(out));
  }
  return Run(arguments, options, [&](cudaStream_t stream) {
    return ReduceScatter(in.data, out.data, CountOf(out), in.type, op, stream);
  });
}

absl::Status NcclCommunicator::AllToAll(const TensorView& in, const MutableTensorView& out,
                                        const CallOptions& options) {
  const ArgumentCheck check("AllToAll", rank(), size());
  absl::Status arguments = CheckViews("AllToAll", in, out);
  const size_t count = arguments.ok() ? CountOf(in) / size() : 0;
  if (arguments.ok()) arguments = check.SameSize(CountOf(in), CountOf(out));
  if (arguments.ok()) arguments = check.Parts("in", CountOf(in), "a part", count);
  return Run(arguments, options, [&](cudaStream_t stream) {
    return AllToAll(in.data, out.data, count, in.type, stream);
  });
}

absl::Status NcclCommunicator::Send(const TensorView& data, int peer, const CallOptions& options) {
  return Run(CheckView("Send", data), options, [&](cudaStream_t stream) {
    return Send(data.data, CountOf(data), data.type, peer, stream);
  });
}

absl::Status NcclCommunicator::Recv(const MutableTensorView& data, int peer,
                                    const CallOptions& options) {
  return Run(CheckView("Recv", data), options, [&](cudaStream_t stream) {
    return Recv(data.data, CountOf(data), data.type, peer, stream);
  });
}

absl::Status NcclCommunicator::SendRecv(const TensorView& out, int to, const MutableTensorView& in,
                                        int from, const CallOptions& options) {
  return Run(CheckViews("SendRecv", out, in), options, [&](cudaStream_t stream) {
    return SendRecv(out.data, CountOf(out), to, in.data, CountOf(in), from, in.type, stream);
  });
}

absl::Status NcclCommunicator::SendRecv(absl::Span<const OutgoingTensor> sends,
                                        absl::Span<const IncomingTensor> receives,
                                        const CallOptions& options) {
  return Run(absl::OkStatus(), options,
             [&](cudaStream_t stream) { return SendRecv(sends, receives, stream); });
}

}  // namespace muster
