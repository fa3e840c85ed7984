// The operations of NcclCommunicator for which NCCL has no call: several NCCL calls in one group.

#include "client/nccl/nccl_exchange.h"

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/caller_stream.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/cuda_device.h"
#include "client/nccl/device/nccl_types.h"
#include "client/nccl/own_value.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/views.h"
#include "muster/nccl.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::DescribeOperation;
using internal::Message;
using internal::NcclHandle;

// Makes one call of a group.
absl::Status Call(NcclHandle& handle, const std::string& what, NcclHandle::Call call) {
  return handle.Operate(what, call);
}

absl::Status CheckTypes(absl::Span<const Message> messages) {
  absl::Status status;
  for (const Message& message : messages) status.Update(internal::NcclType(message.type).status());
  return status;
}

}  // namespace

namespace internal {

// Makes one call for each message that has elements. For an empty message, NCCL would wait for the
// peer too.
absl::Status EnqueueExchange(NcclHandle& handle, absl::Span<const Message> sends,
                             absl::Span<const Message> receives, cudaStream_t stream) {
  const std::string what = DescribeExchange(sends, receives);
  absl::Status arguments = CheckTypes(sends);
  arguments.Update(CheckTypes(receives));
  arguments.Update(CheckStream(handle, what, stream));
  if (!arguments.ok()) return arguments;
  const ScopedDevice current(handle.device().index);
  return handle.Grouped([&] {
    absl::Status status;
    for (const Message& one : sends) {
      if (!status.ok() || one.count == 0) continue;
      status = Call(handle, what, [&](ncclComm_t comm) {
        return ncclSend(one.data, one.count, *NcclType(one.type), one.peer, comm, stream);
      });
    }
    for (const Message& one : receives) {
      if (!status.ok() || one.count == 0) continue;
      status = Call(handle, what, [&](ncclComm_t comm) {
        return ncclRecv(one.data, one.count, *NcclType(one.type), one.peer, comm, stream);
      });
    }
    return status;
  });
}

}  // namespace internal

absl::Status NcclCommunicator::SendRecv(const void* out, size_t out_count, int to, void* in,
                                        size_t in_count, int from, DataType type,
                                        cudaStream_t stream) {
  absl::Status arguments =
      ArgumentCheck("SendRecv", rank(), size()).Exchange(to, out_count, from, in_count);
  if (!arguments.ok()) return arguments;
  return internal::EnqueueExchange(*handle_, {Message{const_cast<void*>(out), out_count, type, to}},
                                   {Message{in, in_count, type, from}}, stream);
}

absl::Status NcclCommunicator::SendRecv(absl::Span<const OutgoingTensor> sends,
                                        absl::Span<const IncomingTensor> receives,
                                        cudaStream_t stream) {
  const auto messages = internal::MessagesOf(sends, receives);
  if (!messages.ok()) return messages.status();
  absl::Status arguments =
      ArgumentCheck("SendRecv", rank(), size()).Messages(messages->sends, messages->receives);
  if (!arguments.ok()) return arguments;
  return internal::EnqueueExchange(*handle_, messages->sends, messages->receives, stream);
}

absl::Status NcclCommunicator::AllToAll(const void* in, void* out, size_t count, DataType type,
                                        cudaStream_t stream) {
  absl::Status arguments = internal::NcclType(type).status();
  arguments.Update(internal::CheckStream(*handle_, "AllToAll", stream));
  if (!arguments.ok()) return arguments;
  const size_t part = count * SizeOf(type);
  auto* const from = static_cast<char*>(const_cast<void*>(in));
  auto* const to = static_cast<char*>(out);
  if (handle_->group().prevents_block()) {
    const size_t offset = part * rank();
    return internal::CopyOwn(*handle_, {from + offset, to + offset, part}, stream);
  }
  std::vector<Message> sends, receives;
  for (int peer = 0; peer < size(); ++peer) {
    sends.push_back({from + peer * part, count, type, peer});
    receives.push_back({to + peer * part, count, type, peer});
  }
  return internal::EnqueueExchange(*handle_, sends, receives, stream);
}

absl::Status NcclCommunicator::AllGather(const void* in, absl::Span<const size_t> counts, void* out,
                                         DataType type, cudaStream_t stream) {
  const size_t own = counts.size() == static_cast<size_t>(size()) ? counts[rank()] : 0;
  const size_t total = std::accumulate(counts.begin(), counts.end(), size_t{0});
  absl::Status arguments = ArgumentCheck("AllGather", rank(), size()).Counts(counts, own, total);
  arguments.Update(internal::CheckStream(*handle_, "AllGather", stream));
  if (!arguments.ok()) return arguments;
  const absl::StatusOr<ncclDataType_t> nccl_type = internal::NcclType(type);
  if (!nccl_type.ok()) return nccl_type.status();
  const std::string what = DescribeOperation("AllGather", total, type);
  if (handle_->group().prevents_block()) {
    const size_t before = std::accumulate(counts.begin(), counts.begin() + rank(), size_t{0});
    return internal::CopyOwn(
        *handle_, {in, static_cast<char*>(out) + before * SizeOf(type), own * SizeOf(type)},
        stream);
  }
  const internal::ScopedDevice current(device());
  return handle_->Grouped([&] {
    absl::Status status;
    char* next = static_cast<char*>(out);
    for (int root = 0; root < size() && status.ok(); ++root) {
      const size_t count = counts[root];
      if (count > 0) {
        status = Call(*handle_, what, [&](ncclComm_t comm) {
          return ncclBroadcast(root == rank() ? in : next, next, count, *nccl_type, root, comm,
                               stream);
        });
      }
      next += count * SizeOf(type);
    }
    return status;
  });
}

}  // namespace muster
