#include "client/nccl/nccl_backend.h"

#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/bootstrap.h"
#include "client/nccl/communicator/free.h"
#include "client/nccl/communicator/wait.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/gpu_memory.h"
#include "client/nccl/device/nccl_types.h"
#include "client/nccl/nccl_exchange.h"

namespace muster::internal {
namespace {

constexpr char kName[] = "nccl";

absl::Status Usable() { return CountDevices().status(); }

absl::StatusOr<std::string> DeviceAt(int local_rank) {
  const absl::StatusOr<int> visible = CountDevices();
  if (!visible.ok()) return visible.status();
  const absl::StatusOr<int> index = ChooseDevice(*visible, std::nullopt, local_rank);
  if (!index.ok()) return index.status();
  return absl::StrCat("cuda:", *index);
}

// Preferred to Gloo, whose priority is 0.
const bool registered = RegisterBackend({kName, /*priority=*/10, &Usable, &NcclBackend::Create,
                                         /*device_memory=*/true, &DeviceAt, &GpuMemoryOfProcess});

Area Input(const void* data, size_t bytes) {
  return Area{const_cast<void*>(data), bytes, /*read=*/true, /*written=*/false};
}
Area Output(void* data, size_t bytes) {
  return Area{data, bytes, /*read=*/false, /*written=*/true};
}

// Returns the areas of `in` and `out`, as one area if they are the same.
std::vector<Area> InAndOut(const void* in, size_t in_bytes, void* out, size_t out_bytes) {
  if (in == out && in_bytes == out_bytes) return {Area{out, out_bytes, true, true}};
  return {Input(in, in_bytes), Output(out, out_bytes)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NcclBackend::Create(const Group& group,
                                                             const CommunicatorOptions& options) {
  NcclOptions nccl_options;
  nccl_options.timeout = options.timeout;
  nccl_options.cancellation = options.cancellation;
  std::unique_ptr<NcclBackend> backend(new NcclBackend);
  absl::StatusOr<std::shared_ptr<NcclHandle>> handle =
      Bootstrap(group, nccl_options, [&] { return backend->OpenStream(); });
  if (!handle.ok()) return handle.status();
  backend->handle_ = *std::move(handle);
  backend->comm_ = std::make_unique<NcclCommunicator>(backend->handle_);
  return backend;
}

NcclBackend::~NcclBackend() {
  comm_.reset();
  std::vector<void*> staged = staging_.Release();
  if (stream_ == nullptr) return;
  if (handle_ != nullptr && !handle_->IsQuiet()) return;  // NCCL may still write to the memory
  FreeOnDevice(device_, "the memory of a communicator",
               [stream = stream_, caller = caller_, staged = std::move(staged)] {
                 cudaStreamDestroy(stream);
                 if (caller != nullptr) cudaEventDestroy(caller);
                 for (void* memory : staged) cudaFree(memory);
               });
}

absl::Status NcclBackend::OpenStream() {
  absl::Status status = CudaStatus("cudaGetDevice", cudaGetDevice(&device_));
  if (!status.ok()) return status;
  status = CudaStatus("cudaStreamCreateWithFlags",
                      cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  if (!status.ok()) return status;
  absl::MutexLock lock(&follow_mutex_);
  return CudaStatus("cudaEventCreateWithFlags",
                    cudaEventCreateWithFlags(&caller_, cudaEventDisableTiming));
}

// Orders the backend's stream behind the caller's. One event is enough: a wait is for what the
// event has recorded when the wait is called.
absl::Status NcclBackend::Follow(void* stream) {
  const ScopedDevice current(device_);
  absl::MutexLock lock(&follow_mutex_);
  absl::Status status = CudaStatus("recording an event on the caller's stream",
                                   cudaEventRecord(caller_, static_cast<cudaStream_t>(stream)));
  if (status.ok()) {
    status = CudaStatus("cudaStreamWaitEvent", cudaStreamWaitEvent(stream_, caller_, 0));
  }
  return status.ok() ? status : handle_->End(status);
}

std::string NcclBackend::device() const { return handle_->device().Describe(); }

void NcclBackend::Abort(const absl::Status& why) { handle_->Fail(why); }

absl::Status NcclBackend::CheckSupport(DataType type, std::optional<ReduceOp> op) const {
  const absl::Status known = NcclType(type).status();
  return known.ok() && op ? NcclOp(*op).status() : known;
}

absl::Status NcclBackend::Run(absl::string_view what, absl::Span<Area> areas,
                              const CallOptions& options,
                              absl::FunctionRef<absl::Status()> enqueue) {
  const Deadline deadline(*options.timeout, options.cancellation);
  const ScopedDevice current(device_);
  if (absl::Status status = deadline.Check(); absl::IsCancelled(status)) {
    return handle_->End(
        absl::CancelledError(absl::StrCat(handle_->Title(what), " was cancelled before it began")));
  }
  absl::Status status = staging_.Place(areas);
  if (status.ok()) status = CopyIn(what, areas, deadline);
  if (!status.ok()) return handle_->End(status);
  handle_->SetOperationDeadline(deadline);
  status = enqueue();
  if (status.ok()) status = AwaitStream(*handle_, stream_, what, deadline);
  return status.ok() ? CopyOut(areas, deadline) : status;
}

// Waits for the caller's stream before it copies. A copy from pageable host memory blocks until its
// stream gets to it, and nothing could end that.
absl::Status NcclBackend::CopyIn(absl::string_view what, absl::Span<const Area> areas,
                                 const Deadline& deadline) {
  bool awaited = false;
  for (const Area& area : areas) {
    if (!area.staged() || !area.read) continue;
    absl::Status status;
    if (!awaited) {
      status = AwaitStream(*handle_, stream_,
                           absl::StrCat("waiting for the caller's stream before ", what), deadline);
    }
    if (!status.ok()) return status;
    awaited = true;
    status = CudaStatus("copying to the device", cudaMemcpyAsync(area.device, area.data, area.bytes,
                                                                 cudaMemcpyHostToDevice, stream_));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Copies only after NCCL has completed, for the same reason.
absl::Status NcclBackend::CopyOut(absl::Span<const Area> areas, const Deadline& deadline) {
  bool copied = false;
  for (const Area& area : areas) {
    if (!area.staged() || !area.written) continue;
    copied = true;
    absl::Status status = CudaStatus(
        "copying from the device",
        cudaMemcpyAsync(area.data, area.device, area.bytes, cudaMemcpyDeviceToHost, stream_));
    if (!status.ok()) return handle_->End(status);
  }
  if (!copied) return absl::OkStatus();
  return AwaitStream(*handle_, stream_, "copying from the device", deadline);
}

absl::Status NcclBackend::AllReduce(const void* in, void* out, size_t count, DataType type,
                                    ReduceOp op, const CallOptions& options) {
  const size_t bytes = count * SizeOf(type);
  std::vector<Area> areas = InAndOut(in, bytes, out, bytes);
  return Run(DescribeOperation("AllReduce", count, type, op), absl::MakeSpan(areas), options, [&] {
    return comm_->AllReduce(areas.front().device, areas.back().device, count, type, op, stream_);
  });
}

absl::Status NcclBackend::AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                             ReduceOp op, const CallOptions& options) {
  std::vector<Area> areas;
  size_t total = 0;
  for (const Buffer& buffer : buffers) {
    areas.push_back(Area{buffer.data, buffer.count * SizeOf(type), true, true});
    total += buffer.count;
  }
  return Run(absl::StrCat(DescribeOperation("AllReduce", total, type, op), " in ", buffers.size(),
                          " buffers"),
             absl::MakeSpan(areas), options, [&] {
               std::vector<AllReducePart> staged;
               for (size_t i = 0; i < areas.size(); ++i) {
                 staged.push_back({areas[i].device, areas[i].device, buffers[i].count, type});
               }
               return comm_->AllReduce(staged, op, stream_);
             });
}

absl::Status NcclBackend::Broadcast(void* data, size_t count, DataType type, int root,
                                    const CallOptions& options) {
  const bool is_root = handle_->rank() == root;
  Area area{data, count * SizeOf(type), /*read=*/is_root, /*written=*/!is_root};
  return Run(absl::StrCat(DescribeOperation("Broadcast", count, type), " from rank ", root),
             absl::MakeSpan(&area, 1), options, [&] {
               return comm_->Broadcast(area.device, area.device, count, type, root, stream_);
             });
}

absl::Status NcclBackend::Reduce(const void* in, void* out, size_t count, DataType type,
                                 ReduceOp op, int root, const CallOptions& options) {
  const size_t bytes = count * SizeOf(type);
  const bool is_root = handle_->rank() == root;
  std::vector<Area> areas =
      is_root ? InAndOut(in, bytes, out, bytes) : std::vector<Area>{Input(in, bytes)};
  return Run(absl::StrCat(DescribeOperation("Reduce", count, type, op), " to rank ", root),
             absl::MakeSpan(areas), options, [&] {
               void* const to = is_root ? areas.back().device : nullptr;
               return comm_->Reduce(areas.front().device, to, count, type, op, root, stream_);
             });
}

absl::Status NcclBackend::AllGather(const void* in, void* out, size_t count, DataType type,
                                    const CallOptions& options) {
  const size_t bytes = count * SizeOf(type);
  std::vector<Area> areas = InAndOut(in, bytes, out, bytes * handle_->size());
  return Run(DescribeOperation("AllGather", count, type), absl::MakeSpan(areas), options, [&] {
    return comm_->AllGather(areas.front().device, areas.back().device, count, type, stream_);
  });
}

absl::Status NcclBackend::ReduceScatter(const void* in, void* out, size_t count, DataType type,
                                        ReduceOp op, const CallOptions& options) {
  const size_t bytes = count * SizeOf(type);
  std::vector<Area> areas = InAndOut(in, bytes * handle_->size(), out, bytes);
  return Run(DescribeOperation("ReduceScatter", count, type, op), absl::MakeSpan(areas), options,
             [&] {
               return comm_->ReduceScatter(areas.front().device, areas.back().device, count, type,
                                           op, stream_);
             });
}

absl::Status NcclBackend::Exchange(absl::Span<const Message> sends,
                                   absl::Span<const Message> receives, const CallOptions& options) {
  std::vector<Area> areas;
  for (const Message& message : sends) areas.push_back(Input(message.data, message.bytes()));
  for (const Message& message : receives) areas.push_back(Output(message.data, message.bytes()));
  return Run(DescribeExchange(sends, receives), absl::MakeSpan(areas), options, [&] {
    std::vector<Message> staged_sends(sends.begin(), sends.end());
    std::vector<Message> staged_receives(receives.begin(), receives.end());
    size_t next = 0;
    for (Message& message : staged_sends) message.data = areas[next++].device;
    for (Message& message : staged_receives) message.data = areas[next++].device;
    return EnqueueExchange(*handle_, staged_sends, staged_receives, stream_);
  });
}

absl::Status NcclBackend::AllToAll(const void* in, void* out, size_t count, DataType type,
                                   const CallOptions& options) {
  const size_t bytes = count * SizeOf(type) * handle_->size();
  Area areas[] = {Input(in, bytes), Output(out, bytes)};
  return Run(DescribeOperation("AllToAll", count, type), areas, options, [&] {
    return comm_->AllToAll(areas[0].device, areas[1].device, count, type, stream_);
  });
}

absl::Status NcclBackend::AllGatherUneven(const void* in, absl::Span<const size_t> counts,
                                          void* out, DataType type, const CallOptions& options) {
  const size_t total = std::accumulate(counts.begin(), counts.end(), size_t{0});
  Area areas[] = {Input(in, counts[handle_->rank()] * SizeOf(type)),
                  Output(out, total * SizeOf(type))};
  return Run(DescribeOperation("AllGather", total, type), areas, options, [&] {
    return comm_->AllGather(areas[0].device, counts, areas[1].device, type, stream_);
  });
}

absl::Status NcclBackend::Copy(const void* from, void* to, size_t bytes,
                               const CallOptions& options) {
  const Deadline deadline(*options.timeout, options.cancellation);
  const ScopedDevice on(device_);
  absl::Status status = AwaitOwnStream(stream_, "waiting for the caller's stream", deadline);
  if (!status.ok()) return status;
  status =
      CudaStatus("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_));
  return status.ok() ? AwaitOwnStream(stream_, "copying", deadline) : status;
}

// Uses an all-reduce, since NCCL has no barrier: no rank gets the sum before every rank has added
// to it.
absl::Status NcclBackend::Barrier(const CallOptions& options) {
  uint32_t value = 1;
  Area area{&value, sizeof(value), /*read=*/true, /*written=*/false};
  return Run("Barrier", absl::MakeSpan(&area, 1), options, [&] {
    return comm_->AllReduce(area.device, area.device, 1, DataType::kUint32, ReduceOp::kSum,
                            stream_);
  });
}

}  // namespace muster::internal
