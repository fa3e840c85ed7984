#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "muster/communicator.h"

namespace muster::internal {

// What this rank sends to another one, or receives from it.
struct Message {
  void* data = nullptr;  // is only read where it is sent
  size_t count = 0;      // elements
  DataType type = DataType::kUint8;
  int peer = 0;

  size_t bytes() const { return count * SizeOf(type); }
};

// A data plane. Communicator has checked the arguments, serializes the calls and keeps the first
// error that ends it; a backend moves data. Every operation blocks; `options.timeout` is always
// set. Errors are those that communicator.h documents. No exception leaves a backend.
class Backend {
 public:
  virtual ~Backend() = default;

  // OK, or UNIMPLEMENTED where it cannot move this type, or reduce it where `op` is set.
  virtual absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const {
    return absl::OkStatus();
  }

  virtual absl::Status AllReduce(const void* in, void* out, size_t count, DataType type,
                                 ReduceOp op, const CallOptions& options) = 0;
  // Each in place. Here: one AllReduce after another.
  virtual absl::Status AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                          ReduceOp op, const CallOptions& options);
  virtual absl::Status Broadcast(void* data, size_t count, DataType type, int root,
                                 const CallOptions& options) = 0;
  virtual absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                              int root, const CallOptions& options) = 0;
  // `count` is that of one rank.
  virtual absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                                 const CallOptions& options) = 0;
  // `count` is that of one rank.
  virtual absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                                     ReduceOp op, const CallOptions& options) = 0;
  // At once: none of it waits for another part. The peers are other ranks. What has no elements is
  // neither sent nor received.
  virtual absl::Status Exchange(absl::Span<const Message> sends, absl::Span<const Message> receives,
                                const CallOptions& options) = 0;
  // `count` is that of one part.
  virtual absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                                const CallOptions& options) = 0;
  // `counts` has that of each rank.
  virtual absl::Status AllGatherUneven(const void* in, absl::Span<const size_t> counts, void* out,
                                       DataType type, const CallOptions& options) = 0;
  virtual absl::Status Barrier(const CallOptions& options) = 0;

  // What is called from now on comes after the work that is now on the caller's stream
  // (CallOptions::stream). Communicator calls this before each operation. From any thread, also
  // while an operation is in progress; does not block. Here: there are no streams.
  virtual absl::Status Follow(void* stream) { return absl::OkStatus(); }

  // Copies what is in memory that this backend moves, both ends of this process. Here: in the
  // CPU's.
  virtual absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);

  // What it runs on, for the log: "GPU 3 (NVIDIA H100)". Empty where there is nothing to say.
  virtual std::string device() const { return ""; }

  // Ends the call in progress and all later ones with `why`. From any thread; does not block.
  virtual void Abort(const absl::Status& why) = 0;
};

// "Send of 4 int32 to rank 2", "SendRecv of 4 int32 to rank 2 and of 5 from rank 0", "SendRecv of 3
// messages to ranks 0,2 and of 1 from rank 2".
std::string DescribeExchange(absl::Span<const Message> sends, absl::Span<const Message> receives);

struct BackendKind {
  std::string name;
  // The usable one with the highest priority is the default.
  int priority = 0;
  // OK, or why this backend cannot be used by this process ("no GPU is visible").
  absl::Status (*usable)() = nullptr;
  // A collective of the group. `options.timeout` is always set.
  absl::StatusOr<std::unique_ptr<Backend>> (*create)(const Group& group,
                                                     const CommunicatorOptions& options) = nullptr;
  // Buffers may be in memory that only this backend can reach, so a group of one uses it too.
  bool device_memory = false;
  // The device that a process with this local rank uses, "cuda:3", or why it has none. Null: "cpu".
  absl::StatusOr<std::string> (*device)(int local_rank) = nullptr;
  // Bytes of its devices' memory that this process has in use; 0 where that is not known. Null: 0.
  int64_t (*device_memory_in_use)() = nullptr;
};

// Called by a static initializer of each backend's library (alwayslink = True): linking is
// choosing. Returns true.
bool RegisterBackend(BackendKind kind);

// Every registered kind, highest priority first.
std::vector<BackendKind> RegisteredBackends();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_H_
