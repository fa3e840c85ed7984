// The operations of GlooBackend: each one describes its call and hands it to the plane.

#include <cstring>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/gloo/gloo_backend.h"
#include "client/src/base/deadline.h"
#include "client/src/base/reduction.h"

namespace muster::internal {
namespace {

// Buffers are packed together up to this size, because a pass around the ranks costs more than the
// copies. A buffer of this size or more is reduced in place, alone.
constexpr size_t kPassBytes = size_t{4} << 20;

size_t BytesOf(absl::Span<const Buffer> buffers, size_t element_size) {
  size_t bytes = 0;
  for (const Buffer& buffer : buffers) bytes += buffer.count * element_size;
  return bytes;
}

// Divides `buffers` into runs of neighbours that are reduced together, in order.
std::vector<absl::Span<const Buffer>> PassesOf(absl::Span<const Buffer> buffers,
                                               size_t element_size) {
  std::vector<absl::Span<const Buffer>> passes;
  size_t begin = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const size_t more = buffers[i].count * element_size;
    if (i > begin && bytes + more > kPassBytes) {
      passes.push_back(buffers.subspan(begin, i - begin));
      begin = i;
      bytes = 0;
    }
    bytes += more;
  }
  if (begin < buffers.size()) passes.push_back(buffers.subspan(begin));
  return passes;
}

std::vector<char> Pack(absl::Span<const Buffer> buffers, size_t element_size) {
  std::vector<char> packed(BytesOf(buffers, element_size));
  char* next = packed.data();
  for (const Buffer& buffer : buffers) {
    const size_t bytes = buffer.count * element_size;
    if (bytes > 0) std::memcpy(next, buffer.data, bytes);
    next += bytes;
  }
  return packed;
}

void Unpack(const std::vector<char>& packed, absl::Span<const Buffer> buffers,
            size_t element_size) {
  const char* next = packed.data();
  for (const Buffer& buffer : buffers) {
    const size_t bytes = buffer.count * element_size;
    if (bytes > 0) std::memcpy(buffer.data, next, bytes);
    next += bytes;
  }
}

}  // namespace

absl::Status GlooBackend::CheckSupport(DataType type, std::optional<ReduceOp> op) const {
  if (!op || ReduceFunctionFor(type, *op) != nullptr) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("Gloo has no arithmetic on ", NameOf(type), "; reduce it as ",
                   type == DataType::kBool ? "uint8" : "float32, or with the backend 'nccl'"));
}

absl::Status GlooBackend::AllReduce(const void* in, void* out, size_t count, DataType type,
                                    ReduceOp op, const CallOptions& options) {
  Operation operation = NextCollective(OperationKind::kAllReduce, count, type);
  operation.op = op;
  return Run(operation, options,
             [&](CollectivePlane& plane) { plane.AllReduce(operation, in, out); });
}

absl::Status GlooBackend::Broadcast(void* data, size_t count, DataType type, int root,
                                    const CallOptions& options) {
  Operation operation = NextCollective(OperationKind::kBroadcast, count, type);
  operation.peer = root;
  return Run(operation, options, [&](CollectivePlane& plane) { plane.Broadcast(operation, data); });
}

absl::Status GlooBackend::Reduce(const void* in, void* out, size_t count, DataType type,
                                 ReduceOp op, int root, const CallOptions& options) {
  Operation operation = NextCollective(OperationKind::kReduce, count, type);
  operation.op = op;
  operation.peer = root;
  return Run(operation, options, [&](CollectivePlane& plane) { plane.Reduce(operation, in, out); });
}

absl::Status GlooBackend::AllGather(const void* in, void* out, size_t count, DataType type,
                                    const CallOptions& options) {
  const Operation operation = NextCollective(OperationKind::kAllGather, count, type);
  return Run(operation, options,
             [&](CollectivePlane& plane) { plane.AllGather(operation, in, out); });
}

absl::Status GlooBackend::ReduceScatter(const void* in, void* out, size_t count, DataType type,
                                        ReduceOp op, const CallOptions& options) {
  Operation operation = NextCollective(OperationKind::kReduceScatter, count, type);
  operation.op = op;
  return Run(operation, options,
             [&](CollectivePlane& plane) { plane.ReduceScatter(operation, in, out); });
}

absl::Status GlooBackend::AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                             ReduceOp op, const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  CallOptions rest = options;
  absl::Status status;
  for (const absl::Span<const Buffer>& pass : PassesOf(buffers, SizeOf(type))) {
    status = deadline.RunPart([&](absl::Duration left) {
      rest.timeout = left;
      return AllReducePass(pass, type, op, rest);
    });
    if (!status.ok()) break;
  }
  return status;
}

absl::Status GlooBackend::AllReducePass(absl::Span<const Buffer> buffers, DataType type,
                                        ReduceOp op, const CallOptions& options) {
  std::vector<size_t> counts;
  for (const Buffer& buffer : buffers) counts.push_back(buffer.count);
  Operation operation = NextCollective(
      OperationKind::kAllReduce, std::accumulate(counts.begin(), counts.end(), size_t{0}), type);
  operation.op = op;
  operation.sizes = HashOf(counts);
  if (buffers.size() == 1) {
    void* const data = buffers.front().data;
    return Run(operation, options,
               [&](CollectivePlane& plane) { plane.AllReduce(operation, data, data); });
  }
  std::vector<char> packed = Pack(buffers, SizeOf(type));
  char* const data = packed.data();
  absl::Status status = Run(
      operation, options, [&](CollectivePlane& plane) { plane.AllReduce(operation, data, data); });
  if (status.ok()) Unpack(packed, buffers, SizeOf(type));
  return status;
}

absl::Status GlooBackend::Exchange(absl::Span<const Message> sends,
                                   absl::Span<const Message> receives, const CallOptions& options) {
  Operation all;
  all.kind = OperationKind::kExchange;
  all.exchange = DescribeExchange(sends, receives);
  std::vector<NumberedMessage> sending, receiving;
  for (const Message& message : sends) {
    sending.push_back({message, ++sent_[message.peer]});
    all.count += message.count;
  }
  for (const Message& message : receives) {
    receiving.push_back({message, ++received_[message.peer]});
    all.count += message.count;
  }
  return RunOverConnections(
      all, options, [&](const GlooContext& context) { GlooExchange(context, sending, receiving); });
}

absl::Status GlooBackend::AllToAll(const void* in, void* out, size_t count, DataType type,
                                   const CallOptions& options) {
  const Operation operation = NextCollective(OperationKind::kAllToAll, count, type);
  return RunOverConnections(operation, options, [&](const GlooContext& context) {
    GlooAllToAll(context, operation, in, out);
  });
}

absl::Status GlooBackend::AllGatherUneven(const void* in, absl::Span<const size_t> counts,
                                          void* out, DataType type, const CallOptions& options) {
  Operation operation =
      NextCollective(OperationKind::kAllGatherUneven,
                     std::accumulate(counts.begin(), counts.end(), size_t{0}), type);
  operation.sizes = HashOf(counts);
  return Run(operation, options,
             [&](CollectivePlane& plane) { plane.AllGatherUneven(operation, in, counts, out); });
}

absl::Status GlooBackend::Barrier(const CallOptions& options) {
  const Operation operation = NextCollective(OperationKind::kBarrier, 0, DataType::kUint8);
  return Run(operation, options, [&](CollectivePlane& plane) { plane.Barrier(operation); });
}

}  // namespace muster::internal
