// Communicator's operations on tensor views, whose types are known at run time, and
// Communicator::Start().

#include <map>
#include <utility>
#include <vector>

#include "client/src/base/deadline.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/operation_runner.h"
#include "client/src/data_plane/views.h"
#include "muster/communicator.h"

namespace muster {
namespace {

using internal::CheckView;
using internal::CheckViews;
using internal::CountOf;
using internal::InOutOf;

}  // namespace

absl::Status Communicator::AllReduce(const MutableTensorView& data, ReduceOp op,
                                     const CallOptions& options) {
  return AllReduce(data, data, op, options);
}

absl::Status Communicator::AllReduce(const TensorView& in, const MutableTensorView& out,
                                     ReduceOp op, const CallOptions& options) {
  if (absl::Status status = CheckViews("AllReduce", in, out); !status.ok()) return status;
  return RawAllReduce(InOutOf(in, out), op, options);
}

absl::Status Communicator::AllReduceCoalesced(absl::Span<const MutableTensorView> buffers,
                                              ReduceOp op, const CallOptions& options) {
  constexpr absl::string_view kOperation = "AllReduceCoalesced";
  const internal::ArgumentCheck check(kOperation, rank(), size());
  std::map<DataType, std::vector<internal::Buffer>> by_type;
  absl::Status status;
  for (const MutableTensorView& buffer : buffers) {
    status.Update(CheckView(kOperation, buffer));
    if (!status.ok()) return status;
    by_type[buffer.type].push_back({buffer.data, CountOf(buffer)});
  }
  status.Update(check.Timeout(options.timeout));
  // Checks all types first, so that nothing changes if one is refused.
  for (const auto& [type, list] : by_type) {
    status.Update(check.Op(op, type));
    if (status.ok()) status = runner_->CheckSupport(type, op);
  }
  const internal::Deadline deadline(options.timeout.value_or(runner_->default_timeout()),
                                    options.cancellation);
  CallOptions rest = options;
  for (const auto& [type, list] : by_type) {
    if (!status.ok()) break;
    status = deadline.RunPart([&, type = type, &list = list](absl::Duration left) {
      rest.timeout = left;
      return RawAllReduceCoalesced(list, type, op, rest);
    });
  }
  return status;
}

absl::Status Communicator::Broadcast(const MutableTensorView& data, int root,
                                     const CallOptions& options) {
  if (absl::Status status = CheckView("Broadcast", data); !status.ok()) return status;
  return RawBroadcast(data.data, CountOf(data), data.type, root, options);
}

absl::Status Communicator::Reduce(const TensorView& in, const MutableTensorView& out, ReduceOp op,
                                  int root, const CallOptions& options) {
  const bool is_root = rank() == root;
  absl::Status status = is_root ? CheckViews("Reduce", in, out) : CheckView("Reduce", in);
  if (!status.ok()) return status;
  internal::InOut data = InOutOf(in, out);
  if (!is_root) data.out_count = 0;
  return RawReduce(data, op, root, options);
}

absl::Status Communicator::AllGather(const TensorView& in, const MutableTensorView& out,
                                     const CallOptions& options) {
  if (absl::Status status = CheckViews("AllGather", in, out); !status.ok()) return status;
  return RawAllGather(InOutOf(in, out), options);
}

absl::Status Communicator::AllGather(const TensorView& in, absl::Span<const size_t> counts,
                                     const MutableTensorView& out, const CallOptions& options) {
  if (absl::Status status = CheckViews("AllGather", in, out); !status.ok()) return status;
  return RawAllGatherUneven(InOutOf(in, out), counts, options);
}

absl::Status Communicator::ReduceScatter(const TensorView& in, const MutableTensorView& out,
                                         ReduceOp op, const CallOptions& options) {
  if (absl::Status status = CheckViews("ReduceScatter", in, out); !status.ok()) return status;
  return RawReduceScatter(InOutOf(in, out), op, options);
}

absl::Status Communicator::AllToAll(const TensorView& in, const MutableTensorView& out,
                                    const CallOptions& options) {
  if (absl::Status status = CheckViews("AllToAll", in, out); !status.ok()) return status;
  return RawAllToAll(InOutOf(in, out), options);
}

absl::Status Communicator::Send(const TensorView& data, int peer, const CallOptions& options) {
  if (absl::Status status = CheckView("Send", data); !status.ok()) return status;
  return RawSend(data.data, CountOf(data), data.type, peer, options);
}

absl::Status Communicator::Recv(const MutableTensorView& data, int peer,
                                const CallOptions& options) {
  if (absl::Status status = CheckView("Recv", data); !status.ok()) return status;
  return RawRecv(data.data, CountOf(data), data.type, peer, options);
}

absl::Status Communicator::SendRecv(const TensorView& out, int to, const MutableTensorView& in,
                                    int from, const CallOptions& options) {
  if (absl::Status status = CheckViews("SendRecv", in, out); !status.ok()) return status;
  return RawSendRecv(InOutOf(out, in), to, from, options);
}

absl::Status Communicator::SendRecv(absl::Span<const OutgoingTensor> sends,
                                    absl::Span<const IncomingTensor> receives,
                                    const CallOptions& options) {
  const auto messages = internal::MessagesOf(sends, receives);
  if (!messages.ok()) return messages.status();
  return Exchange("SendRecv", messages->sends, messages->receives, options);
}

PendingOperation Communicator::Start(std::function<absl::Status(Communicator&)> calls,
                                     void* stream) {
  return runner_->Start([this, calls = std::move(calls)] { return calls(*this); }, stream);
}

}  // namespace muster
