#ifndef MUSTER_CLIENT_NCCL_NCCL_BACKEND_H_
#define MUSTER_CLIENT_NCCL_NCCL_BACKEND_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/staging.h"
#include "client/src/data_plane/backend.h"
#include "muster/nccl.h"

namespace muster::internal {

// The backend "nccl": Communicator's operations on NCCL. Linking //client/nccl registers it.
// Operations run on the backend's own stream. An event orders it behind the caller's stream
// (Follow()), and each operation waits for its end. Device memory is used in place; host memory
// goes through a buffer on the device (Staging).
class NcclBackend final : public Backend {
 public:
  static absl::StatusOr<std::unique_ptr<Backend>> Create(const Group& group,
                                                         const CommunicatorOptions& options);
  ~NcclBackend() override;

  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const override;
  absl::Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                         const CallOptions& options) override;
  absl::Status AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type, ReduceOp op,
                                  const CallOptions& options) override;
  absl::Status Broadcast(void* data, size_t count, DataType type, int root,
                         const CallOptions& options) override;
  absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op, int root,
                      const CallOptions& options) override;
  absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                         const CallOptions& options) override;
  absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                             const CallOptions& options) override;
  absl::Status Exchange(absl::Span<const Message> sends, absl::Span<const Message> receives,
                        const CallOptions& options) override;
  absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                        const CallOptions& options) override;
  absl::Status AllGatherUneven(const void* in, absl::Span<const size_t> counts, void* out,
                               DataType type, const CallOptions& options) override;
  absl::Status Barrier(const CallOptions& options) override;
  absl::Status Follow(void* stream) override;
  absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options) override;
  std::string device() const override;
  void Abort(const absl::Status& why) override;

 private:
  NcclBackend() = default;

  absl::Status OpenStream();
  // Runs an operation to its end. `enqueue` puts it on the stream, and finds its memory in
  // areas[i].device.
  absl::Status Run(absl::string_view what, absl::Span<Area> areas, const CallOptions& options,
                   absl::FunctionRef<absl::Status()> enqueue);
  absl::Status CopyIn(absl::string_view what, absl::Span<const Area> areas,
                      const Deadline& deadline);
  absl::Status CopyOut(absl::Span<const Area> areas, const Deadline& deadline);

  std::shared_ptr<NcclHandle> handle_;
  std::unique_ptr<NcclCommunicator> comm_;
  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  Staging staging_;

  absl::Mutex follow_mutex_;
  cudaEvent_t caller_ ABSL_GUARDED_BY(follow_mutex_) = nullptr;  // position of its stream
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_NCCL_BACKEND_H_
