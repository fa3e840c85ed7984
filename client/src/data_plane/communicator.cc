#include "muster/communicator.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/operation_runner.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::Backend;
using internal::InOut;
using internal::Message;
using OwnValue = internal::OperationRunner::OwnValue;

// Returns the first error, or OK.
absl::Status FirstError(std::initializer_list<absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

Communicator::Communicator(const Group& group, const CommunicatorOptions& options,
                           std::string backend_name, std::unique_ptr<internal::Backend> backend)
    : backend_name_(std::move(backend_name)),
      runner_(std::make_unique<internal::OperationRunner>(group, options, std::move(backend))) {}

Communicator::~Communicator() { runner_->Finish(); }  // started operations use this object

int Communicator::rank() const { return runner_->group().rank(); }
int Communicator::size() const { return runner_->group().size(); }

absl::Status Communicator::RawAllReduce(const InOut& data, ReduceOp op,
                                        const CallOptions& options) {
  const ArgumentCheck check("AllReduce", rank(), size());
  const size_t bytes = data.in_count * SizeOf(data.type);
  absl::Status status = FirstError(
      {check.SameSize(data.in_count, data.out_count), check.Op(op, data.type),
       check.Overlap(data.in, bytes, data.out, bytes, 0), runner_->CheckSupport(data.type, op)});
  if (!status.ok()) return status;
  return runner_->RunCollective("AllReduce", bytes, {data.in, data.out, bytes}, options,
                                [&](Backend& backend, const CallOptions& resolved) {
                                  return backend.AllReduce(data.in, data.out, data.in_count,
                                                           data.type, op, resolved);
                                });
}

absl::Status Communicator::RawAllReduceCoalesced(absl::Span<const internal::Buffer> buffers,
                                                 DataType type, ReduceOp op,
                                                 const CallOptions& options) {
  const ArgumentCheck check("AllReduceCoalesced", rank(), size());
  if (absl::Status status = FirstError({check.Op(op, type), runner_->CheckSupport(type, op)});
      !status.ok()) {
    return status;
  }
  size_t count = 0;
  for (const internal::Buffer& buffer : buffers) count += buffer.count;
  return runner_->RunCollective("AllReduceCoalesced", count * SizeOf(type), {}, options,
                                [&](Backend& backend, const CallOptions& resolved) {
                                  return backend.AllReduceCoalesced(buffers, type, op, resolved);
                                });
}

absl::Status Communicator::RawBroadcast(void* data, size_t count, DataType type, int root,
                                        const CallOptions& options) {
  const ArgumentCheck check("Broadcast", rank(), size());
  if (absl::Status status = FirstError({check.Root(root), runner_->CheckSupport(type, {})});
      !status.ok()) {
    return status;
  }
  return runner_->RunCollective("Broadcast", count * SizeOf(type), {}, options,
                                [&](Backend& backend, const CallOptions& resolved) {
                                  return backend.Broadcast(data, count, type, root, resolved);
                                });
}

absl::Status Communicator::RawReduce(const InOut& data, ReduceOp op, int root,
                                     const CallOptions& options) {
  const ArgumentCheck check("Reduce", rank(), size());
  const size_t bytes = data.in_count * SizeOf(data.type);
  absl::Status status =
      FirstError({check.Root(root), check.Op(op, data.type), runner_->CheckSupport(data.type, op)});
  if (status.ok() && rank() == root) {
    status = FirstError({check.SameSize(data.in_count, data.out_count),
                         check.Overlap(data.in, bytes, data.out, bytes, 0)});
  }
  if (!status.ok()) return status;
  // Only the root gets a result.
  const OwnValue own = rank() == root ? OwnValue{data.in, data.out, bytes} : OwnValue{};
  return runner_->RunCollective(
      "Reduce", bytes, own, options, [&](Backend& backend, const CallOptions& resolved) {
        return backend.Reduce(data.in, data.out, data.in_count, data.type, op, root, resolved);
      });
}

absl::Status Communicator::RawAllGather(const InOut& data, const CallOptions& options) {
  const ArgumentCheck check("AllGather", rank(), size());
  const size_t part = data.in_count * SizeOf(data.type);
  absl::Status status =
      FirstError({check.Parts("out", data.out_count, "in", data.in_count),
                  check.Overlap(data.out, part * size(), data.in, part, part * rank()),
                  runner_->CheckSupport(data.type, {})});
  if (!status.ok()) return status;
  const OwnValue own = {data.in, static_cast<char*>(data.out) + part * rank(), part};
  return runner_->RunCollective(
      "AllGather", part, own, options, [&](Backend& backend, const CallOptions& resolved) {
        return backend.AllGather(data.in, data.out, data.in_count, data.type, resolved);
      });
}

absl::Status Communicator::RawAllGatherUneven(const InOut& data, absl::Span<const size_t> counts,
                                              const CallOptions& options) {
  const ArgumentCheck check("AllGather", rank(), size());
  if (absl::Status status = check.Counts(counts, data.in_count, data.out_count); !status.ok()) {
    return status;
  }
  const size_t element = SizeOf(data.type);
  const size_t bytes = data.in_count * element;
  const size_t offset =
      std::accumulate(counts.begin(), counts.begin() + rank(), size_t{0}) * element;
  absl::Status status =
      FirstError({check.Overlap(data.out, data.out_count * element, data.in, bytes, offset),
                  runner_->CheckSupport(data.type, {})});
  if (!status.ok()) return status;
  const OwnValue own = {data.in, static_cast<char*>(data.out) + offset, bytes};
  return runner_->RunCollective(
      "AllGather", bytes, own, options, [&](Backend& backend, const CallOptions& resolved) {
        return backend.AllGatherUneven(data.in, counts, data.out, data.type, resolved);
      });
}

absl::Status Communicator::RawReduceScatter(const InOut& data, ReduceOp op,
                                            const CallOptions& options) {
  const ArgumentCheck check("ReduceScatter", rank(), size());
  const size_t part = data.out_count * SizeOf(data.type);
  absl::Status status =
      FirstError({check.Parts("in", data.in_count, "out", data.out_count), check.Op(op, data.type),
                  check.Overlap(data.in, part * size(), data.out, part, part * rank()),
                  runner_->CheckSupport(data.type, op)});
  if (!status.ok()) return status;
  const OwnValue own = {static_cast<const char*>(data.in) + part * rank(), data.out, part};
  return runner_->RunCollective(
      "ReduceScatter", part, own, options, [&](Backend& backend, const CallOptions& resolved) {
        return backend.ReduceScatter(data.in, data.out, data.out_count, data.type, op, resolved);
      });
}

absl::Status Communicator::RawAllToAll(const InOut& data, const CallOptions& options) {
  const ArgumentCheck check("AllToAll", rank(), size());
  const size_t count = data.in_count / size();
  const size_t part = count * SizeOf(data.type);
  absl::Status status = FirstError({check.SameSize(data.in_count, data.out_count),
                                    check.Parts("in", data.in_count, "a part", count),
                                    check.Disjoint(data.in, part * size(), data.out, part * size()),
                                    runner_->CheckSupport(data.type, {})});
  if (!status.ok()) return status;
  const size_t offset = part * rank();
  const OwnValue own = {static_cast<const char*>(data.in) + offset,
                        static_cast<char*>(data.out) + offset, part};
  return runner_->RunCollective(
      "AllToAll", part * size(), own, options, [&](Backend& backend, const CallOptions& resolved) {
        return backend.AllToAll(data.in, data.out, count, data.type, resolved);
      });
}

absl::Status Communicator::Exchange(absl::string_view operation, absl::Span<const Message> sends,
                                    absl::Span<const Message> receives,
                                    const CallOptions& options) {
  absl::Status status = ArgumentCheck(operation, rank(), size()).Messages(sends, receives);
  for (absl::Span<const Message> messages : {sends, receives}) {
    for (const Message& message : messages) {
      if (status.ok()) status = runner_->CheckSupport(message.type, {});
    }
  }
  if (!status.ok()) return status;
  return runner_->Run(operation, options, [&](Backend& backend, const CallOptions& resolved) {
    return backend.Exchange(sends, receives, resolved);
  });
}

absl::Status Communicator::RawSend(const void* data, size_t count, DataType type, int peer,
                                   const CallOptions& options) {
  return Exchange("Send", {Message{const_cast<void*>(data), count, type, peer}}, {}, options);
}

absl::Status Communicator::RawRecv(void* data, size_t count, DataType type, int peer,
                                   const CallOptions& options) {
  return Exchange("Recv", {}, {Message{data, count, type, peer}}, options);
}

absl::Status Communicator::RawSendRecv(const InOut& data, int to, int from,
                                       const CallOptions& options) {
  const ArgumentCheck check("SendRecv", rank(), size());
  const size_t sent = data.in_count * SizeOf(data.type);
  const size_t received = data.out_count * SizeOf(data.type);
  absl::Status status = FirstError({check.Exchange(to, data.in_count, from, data.out_count),
                                    check.Disjoint(data.in, sent, data.out, received),
                                    runner_->CheckSupport(data.type, {})});
  if (!status.ok()) return status;
  if (to != rank()) {
    return Exchange("SendRecv", {Message{const_cast<void*>(data.in), data.in_count, data.type, to}},
                    {Message{data.out, data.out_count, data.type, from}}, options);
  }
  return runner_->Run("SendRecv", options, [&](Backend& backend, const CallOptions& resolved) {
    return backend.Copy(data.in, data.out, sent, resolved);
  });
}

absl::Status Communicator::Barrier(const CallOptions& options) {
  return runner_->RunCollective(
      "Barrier", 0, {}, options,
      [](Backend& backend, const CallOptions& resolved) { return backend.Barrier(resolved); });
}

}  // namespace muster
