#include "client/src/data_plane/serial_backend.h"

#include <cstring>

namespace muster::internal {
namespace {

class SerialBackend final : public Backend {
 public:
  absl::Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                         const CallOptions& options) override {
    return CopyElements(in, out, count, type, options);
  }
  absl::Status Broadcast(void* data, size_t count, DataType type, int root,
                         const CallOptions& options) override {
    return CopyElements(data, data, count, type, options);
  }
  absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op, int root,
                      const CallOptions& options) override {
    return CopyElements(in, out, count, type, options);
  }
  absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                         const CallOptions& options) override {
    return CopyElements(in, out, count, type, options);
  }
  absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                             const CallOptions& options) override {
    return CopyElements(in, out, count, type, options);
  }
  absl::Status Exchange(absl::Span<const Message> sends, absl::Span<const Message> receives,
                        const CallOptions& options) override {
    if (sends.empty() && receives.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError("a group of one process has no peers");
  }
  absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                        const CallOptions& options) override {
    return CopyElements(in, out, count, type, options);
  }
  absl::Status AllGatherUneven(const void* in, absl::Span<const size_t> counts, void* out,
                               DataType type, const CallOptions& options) override {
    return CopyElements(in, out, counts.front(), type, options);
  }
  absl::Status Barrier(const CallOptions& options) override {
    return CopyElements(nullptr, nullptr, 0, DataType::kUint8, options);
  }

  // Nothing to end: no call blocks, and Communicator refuses later ones.
  void Abort(const absl::Status& why) override {}

 private:
  static absl::Status CopyElements(const void* in, void* out, size_t count, DataType type,
                                   const CallOptions& options) {
    if (options.cancellation != nullptr && options.cancellation->cancelled()) {
      return absl::CancelledError("the call was cancelled before it began");
    }
    if (in != out && count > 0) std::memcpy(out, in, count * SizeOf(type));
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<Backend> MakeSerialBackend() { return std::make_unique<SerialBackend>(); }

}  // namespace muster::internal
