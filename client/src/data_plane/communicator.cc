#include "muster/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/base/deadline.h"
#include "client/src/data_plane/argument_check.h"
#include "client/src/data_plane/backend.h"
#include "client/src/data_plane/backend_registry.h"
#include "client/src/data_plane/communicator_name.h"
#include "client/src/data_plane/rendezvous.h"
#include "client/src/data_plane/serial_backend.h"
#include "client/src/data_plane/started_calls.h"
#include "common/published_activity.h"
#include "muster/log.h"

namespace muster {
namespace {

using internal::ArgumentCheck;
using internal::Backend;
using internal::BackendChoice;
using internal::Message;

constexpr absl::string_view kSerial = "serial";

// The first of them that is an error.
absl::Status FirstError(std::initializer_list<absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void LogChoice(const Group& group, absl::string_view backend, absl::string_view device,
               absl::string_view reason) {
  Log(LogLevel::kInfo,
      absl::StrCat("communicator of ", group.size(), " on rank ", group.rank(), ": backend ",
                   backend, device.empty() ? "" : " on ", device, ": ", reason));
}

// A group of one needs a backend only where its data may be in memory that the CPU cannot reach.
bool IsSerial(const Group& group, const absl::StatusOr<BackendChoice>& choice) {
  return group.size() == 1 && !(choice.ok() && choice->kind.device_memory);
}

// A named backend that is not linked is an error in a group of one too, so that a program does not
// find out only when it grows.
absl::StatusOr<std::unique_ptr<Backend>> CreateSerial(const Group& group,
                                                      const absl::StatusOr<BackendChoice>& choice,
                                                      bool named) {
  if (named && !choice.ok()) return choice.status();
  LogChoice(group, kSerial, "", "the group has one rank");
  return internal::MakeSerialBackend();
}

// Tells the other ranks why this one cannot take part.
absl::Status Decline(const Group& group, const absl::Status& why, const CallOptions& options) {
  return internal::ExchangePeerBytes(group, "", why, options).status();
}

absl::StatusOr<std::unique_ptr<Backend>> CreateLinked(const Group& group,
                                                      const absl::StatusOr<BackendChoice>& choice,
                                                      const CommunicatorOptions& options) {
  if (!choice.ok()) {
    return Decline(group, choice.status(), CallOptions{options.timeout, options.cancellation});
  }
  absl::StatusOr<std::unique_ptr<Backend>> backend = choice->kind.create(group, options);
  if (backend.ok()) {
    LogChoice(group, choice->kind.name, (*backend)->device(), choice->reason);
  }
  return backend;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> Communicator::Create(
    const Group& group, const CommunicatorOptions& options) {
  const ArgumentCheck check("Communicator::Create", group.rank(), group.size());
  if (absl::Status status = check.Timeout(options.timeout); !status.ok()) return status;
  if (absl::Status status = check.NotAlone(group); !status.ok()) return status;
  CommunicatorOptions resolved = options;
  if (!resolved.timeout) resolved.timeout = group.default_timeout();

  const absl::StatusOr<BackendChoice> choice =
      internal::ChooseBackend(internal::RegisteredBackends(), options.backend);
  const bool serial = IsSerial(group, choice);
  absl::StatusOr<std::unique_ptr<Backend>> backend =
      serial ? CreateSerial(group, choice, internal::IsBackendNamed(options.backend))
             : CreateLinked(group, choice, resolved);
  if (!backend.ok()) return backend.status();
  return std::make_unique<Communicator>(
      group, resolved, serial ? std::string(kSerial) : choice->kind.name, *std::move(backend));
}

Communicator::Communicator(const Group& group, const CommunicatorOptions& options,
                           std::string backend_name, std::unique_ptr<internal::Backend> backend)
    : group_(group),
      options_(options),
      backend_name_(std::move(backend_name)),
      backend_(std::move(backend)),
      process_(getpid()),
      started_(std::make_unique<internal::StartedCalls>()),
      activity_(std::make_unique<PublishedActivity>(internal::NextCommunicatorName(group))),
      failure_(group_.OnFailure([this](const absl::Status& why) { Fail(why); })) {}

// In a fork the threads are not there, locks may be held for ever, and the connections are the
// parent's: what would end them is not even destroyed.
Communicator::~Communicator() {
  if (getpid() == process_) {
    started_->Finish();  // which uses this object
    return;
  }
  static_cast<void>(started_.release());
  static_cast<void>(backend_.release());
  static_cast<void>(activity_.release());
  static_cast<void>(new Subscription(std::move(failure_)));
}

absl::Status Communicator::CheckProcess(absl::string_view operation) const {
  const pid_t process = getpid();
  if (process == process_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      operation, " on rank ", rank(), " of ", size(), ": process ", process,
      " is a fork of process ", process_,
      ", which created this communicator; it works only there, so start programs by exec"));
}

int Communicator::rank() const { return group_.rank(); }
int Communicator::size() const { return group_.size(); }

void Communicator::Fail(const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    if (end_.ok()) end_ = why;
  }
  backend_->Abort(why);
}

// A call from outside comes after all that was started, within its time-out and unless it is
// cancelled.
void Communicator::AwaitStarted(absl::string_view operation, CallOptions* options) {
  if (started_->IsOwnThread() || started_->IsEmpty()) return;
  const internal::Deadline deadline(*options->timeout, options->cancellation);
  const absl::Status awaited = started_->AwaitAll(deadline);
  const std::string what = absl::StrCat(operation, " on rank ", rank(), " of ", size());
  constexpr absl::string_view kStarted = "for what Start() had begun before";
  if (absl::IsCancelled(awaited)) {
    Fail(absl::CancelledError(absl::StrCat(what, " was cancelled while it waited ", kStarted)));
  } else if (!awaited.ok()) {
    Fail(absl::DeadlineExceededError(
        absl::StrCat(what, " waited ", absl::FormatDuration(deadline.timeout()), " ", kStarted,
                     "; all ranks must start and call the same in the same order")));
  }
  options->timeout = deadline.Left();
}

absl::Status Communicator::Enter(absl::string_view operation) {
  absl::MutexLock lock(&mutex_);
  if (!end_.ok()) return end_;
  if (busy_) {
    return absl::FailedPreconditionError(
        absl::StrCat(operation, " on rank ", rank(), " of ", size(),
                     ": another call on this communicator is in progress; make one call at a "
                     "time, or create a communicator for each thread"));
  }
  busy_ = true;
  return absl::OkStatus();
}

absl::Status Communicator::Leave(absl::Status result) {
  absl::MutexLock lock(&mutex_);
  busy_ = false;
  if (result.ok()) return result;
  if (end_.ok()) end_ = std::move(result);
  return end_;
}

absl::Status Communicator::Collective(absl::string_view operation, size_t bytes,
                                      const OwnValue& own, const CallOptions& options,
                                      absl::FunctionRef<absl::Status(const CallOptions&)> call) {
  const auto alone = [&](const CallOptions& resolved) {
    return own.from == own.to ? absl::OkStatus()
                              : backend_->Copy(own.from, own.to, own.bytes, resolved);
  };
  // What is published is compared between ranks: the numbers of collectives are the same on all of
  // them, those of messages from one to another are not.
  return Run(operation, options, [&](const CallOptions& resolved) {
    activity_->Begin({operation.data(), operation.size()}, bytes);
    absl::Status status = group_.prevents_block() ? alone(resolved) : call(resolved);
    activity_->End();
    return status;
  });
}

absl::Status Communicator::Run(absl::string_view operation, const CallOptions& options,
                               absl::FunctionRef<absl::Status(const CallOptions&)> call) {
  const ArgumentCheck check(operation, rank(), size());
  if (absl::Status status = check.Timeout(options.timeout); !status.ok()) return status;
  if (absl::Status status = CheckProcess(operation); !status.ok()) return status;
  CallOptions resolved = options;
  if (!resolved.timeout) resolved.timeout = options_.timeout;
  const internal::Deadline deadline(*resolved.timeout, resolved.cancellation);
  AwaitStarted(operation, &resolved);
  if (absl::Status status = Enter(operation); !status.ok()) return status;
  // What is started has followed when it was.
  const absl::Status followed =
      started_->IsOwnThread() ? absl::OkStatus() : backend_->Follow(options.stream);
  return Leave(followed.ok() ? deadline.NameWhole(call(resolved), *resolved.timeout) : followed);
}

absl::Status Communicator::RawAllReduce(const void* in, size_t in_count, void* out,
                                        size_t out_count, DataType type, ReduceOp op,
                                        const CallOptions& options) {
  const ArgumentCheck check("AllReduce", rank(), size());
  const size_t bytes = in_count * SizeOf(type);
  if (absl::Status status =
          FirstError({check.SameSize(in_count, out_count), check.Op(op, type),
                      check.Overlap(in, bytes, out, bytes, 0), backend_->CheckSupport(type, op)});
      !status.ok()) {
    return status;
  }
  return Collective("AllReduce", bytes, {in, out, bytes}, options,
                    [&](const CallOptions& resolved) {
                      return backend_->AllReduce(in, out, in_count, type, op, resolved);
                    });
}

absl::Status Communicator::RawAllReduceCoalesced(absl::Span<const internal::Buffer> buffers,
                                                 DataType type, ReduceOp op,
                                                 const CallOptions& options) {
  const ArgumentCheck check("AllReduceCoalesced", rank(), size());
  if (absl::Status status = FirstError({check.Op(op, type), backend_->CheckSupport(type, op)});
      !status.ok()) {
    return status;
  }
  size_t count = 0;
  for (const internal::Buffer& buffer : buffers) count += buffer.count;
  return Collective("AllReduceCoalesced", count * SizeOf(type), {}, options,
                    [&](const CallOptions& resolved) {
                      return backend_->AllReduceCoalesced(buffers, type, op, resolved);
                    });
}

absl::Status Communicator::RawBroadcast(void* data, size_t count, DataType type, int root,
                                        const CallOptions& options) {
  const ArgumentCheck check("Broadcast", rank(), size());
  if (absl::Status status = FirstError({check.Root(root), backend_->CheckSupport(type, {})});
      !status.ok()) {
    return status;
  }
  return Collective("Broadcast", count * SizeOf(type), {}, options,
                    [&](const CallOptions& resolved) {
                      return backend_->Broadcast(data, count, type, root, resolved);
                    });
}

absl::Status Communicator::RawReduce(const void* in, size_t in_count, void* out, size_t out_count,
                                     DataType type, ReduceOp op, int root,
                                     const CallOptions& options) {
  const ArgumentCheck check("Reduce", rank(), size());
  const size_t bytes = in_count * SizeOf(type);
  absl::Status status =
      FirstError({check.Root(root), check.Op(op, type), backend_->CheckSupport(type, op)});
  if (status.ok() && rank() == root) {
    status =
        FirstError({check.SameSize(in_count, out_count), check.Overlap(in, bytes, out, bytes, 0)});
  }
  if (!status.ok()) return status;
  // Elsewhere than at the root nothing comes back.
  const OwnValue own = rank() == root ? OwnValue{in, out, bytes} : OwnValue{};
  return Collective("Reduce", bytes, own, options, [&](const CallOptions& resolved) {
    return backend_->Reduce(in, out, in_count, type, op, root, resolved);
  });
}

absl::Status Communicator::RawAllGather(const void* in, size_t in_count, void* out,
                                        size_t out_count, DataType type,
                                        const CallOptions& options) {
  const ArgumentCheck check("AllGather", rank(), size());
  const size_t part = in_count * SizeOf(type);
  if (absl::Status status = FirstError({check.Parts("out", out_count, "in", in_count),
                                        check.Overlap(out, part * size(), in, part, part * rank()),
                                        backend_->CheckSupport(type, {})});
      !status.ok()) {
    return status;
  }
  const OwnValue own = {in, static_cast<char*>(out) + part * rank(), part};
  return Collective("AllGather", part, own, options, [&](const CallOptions& resolved) {
    return backend_->AllGather(in, out, in_count, type, resolved);
  });
}

absl::Status Communicator::RawReduceScatter(const void* in, size_t in_count, void* out,
                                            size_t out_count, DataType type, ReduceOp op,
                                            const CallOptions& options) {
  const ArgumentCheck check("ReduceScatter", rank(), size());
  const size_t part = out_count * SizeOf(type);
  if (absl::Status status =
          FirstError({check.Parts("in", in_count, "out", out_count), check.Op(op, type),
                      check.Overlap(in, part * size(), out, part, part * rank()),
                      backend_->CheckSupport(type, op)});
      !status.ok()) {
    return status;
  }
  const OwnValue own = {static_cast<const char*>(in) + part * rank(), out, part};
  return Collective("ReduceScatter", part, own, options, [&](const CallOptions& resolved) {
    return backend_->ReduceScatter(in, out, out_count, type, op, resolved);
  });
}

absl::Status Communicator::Exchange(absl::string_view operation, absl::Span<const Message> sends,
                                    absl::Span<const Message> receives,
                                    const CallOptions& options) {
  absl::Status status = ArgumentCheck(operation, rank(), size()).Messages(sends, receives);
  for (absl::Span<const Message> messages : {sends, receives}) {
    for (const Message& message : messages) {
      if (status.ok()) status = backend_->CheckSupport(message.type, {});
    }
  }
  if (!status.ok()) return status;
  return Run(operation, options, [&](const CallOptions& resolved) {
    return backend_->Exchange(sends, receives, resolved);
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

absl::Status Communicator::RawSendRecv(const void* out, size_t out_count, int to, void* in,
                                       size_t in_count, int from, DataType type,
                                       const CallOptions& options) {
  const ArgumentCheck check("SendRecv", rank(), size());
  const size_t out_bytes = out_count * SizeOf(type);
  absl::Status status = FirstError({check.Exchange(to, out_count, from, in_count),
                                    check.Disjoint(out, out_bytes, in, in_count * SizeOf(type)),
                                    backend_->CheckSupport(type, {})});
  if (!status.ok()) return status;
  if (to != rank()) {
    return Exchange("SendRecv", {Message{const_cast<void*>(out), out_count, type, to}},
                    {Message{in, in_count, type, from}}, options);
  }
  return Run("SendRecv", options, [&](const CallOptions& resolved) {
    return backend_->Copy(out, in, out_bytes, resolved);
  });
}

absl::Status Communicator::RawAllToAll(const void* in, size_t in_count, void* out, size_t out_count,
                                       DataType type, const CallOptions& options) {
  const ArgumentCheck check("AllToAll", rank(), size());
  const size_t count = in_count / size();
  const size_t part = count * SizeOf(type);
  absl::Status status = FirstError(
      {check.SameSize(in_count, out_count), check.Parts("in", in_count, "a part", count),
       check.Disjoint(in, part * size(), out, part * size()), backend_->CheckSupport(type, {})});
  if (!status.ok()) return status;
  const size_t offset = part * rank();
  const OwnValue own = {static_cast<const char*>(in) + offset, static_cast<char*>(out) + offset,
                        part};
  return Collective("AllToAll", part * size(), own, options, [&](const CallOptions& resolved) {
    return backend_->AllToAll(in, out, count, type, resolved);
  });
}

absl::Status Communicator::RawAllGatherUneven(const void* in, size_t in_count,
                                              absl::Span<const size_t> counts, void* out,
                                              size_t out_count, DataType type,
                                              const CallOptions& options) {
  const ArgumentCheck check("AllGather", rank(), size());
  if (absl::Status status = check.Counts(counts, in_count, out_count); !status.ok()) return status;
  const size_t bytes = in_count * SizeOf(type);
  const size_t offset =
      std::accumulate(counts.begin(), counts.begin() + rank(), size_t{0}) * SizeOf(type);
  if (absl::Status status =
          FirstError({check.Overlap(out, out_count * SizeOf(type), in, bytes, offset),
                      backend_->CheckSupport(type, {})});
      !status.ok()) {
    return status;
  }
  const OwnValue own = {in, static_cast<char*>(out) + offset, bytes};
  return Collective("AllGather", bytes, own, options, [&](const CallOptions& resolved) {
    return backend_->AllGatherUneven(in, counts, out, type, resolved);
  });
}

absl::Status Communicator::Barrier(const CallOptions& options) {
  return Collective("Barrier", 0, {}, options,
                    [&](const CallOptions& resolved) { return backend_->Barrier(resolved); });
}

}  // namespace muster
