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

// One message from this rank to another one, or from there.
struct Message {
  void* data = nullptr;  // only read if the message is sent
  size_t count = 0;      // in elements
  DataType type = DataType::kUint8;
  int peer = 0;

  size_t bytes() const { return count * SizeOf(type); }
};

// A data plane: it moves the data of one communicator.
//
// Communicator checks the arguments, makes one call at a time, and keeps the first error, which
// ends the communicator. A backend only moves data. Every operation blocks, and `options.timeout`
// is always set. Errors are those of communicator.h. No exception may leave a backend. client/gloo
// and client/nccl implement it, and register a BackendKind. Tests:
// tests/client/communicator*_test.cc, with tests/client/data_plane/recording_backend.h.
class Backend {
 public:
  virtual ~Backend() = default;

  // Returns UNIMPLEMENTED if the backend cannot move this type, or cannot reduce it if `op` is set.
  virtual absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const {
    return absl::OkStatus();
  }

  virtual absl::Status AllReduce(const void* in, void* out, size_t count, DataType type,
                                 ReduceOp op, const CallOptions& options) = 0;
  // Reduces each buffer in place. By default, with one AllReduce after the other.
  virtual absl::Status AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type,
                                          ReduceOp op, const CallOptions& options);
  virtual absl::Status Broadcast(void* data, size_t count, DataType type, int root,
                                 const CallOptions& options) = 0;
  virtual absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                              int root, const CallOptions& options) = 0;
  // `count` is the number of elements of one rank.
  virtual absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                                 const CallOptions& options) = 0;
  // `count` is the number of elements of one rank.
  virtual absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type,
                                     ReduceOp op, const CallOptions& options) = 0;
  // Sends and receives all messages at the same time, so that no message waits for another one. The
  // peers are other ranks. Messages without elements do not travel.
  virtual absl::Status Exchange(absl::Span<const Message> sends, absl::Span<const Message> receives,
                                const CallOptions& options) = 0;
  // `count` is the number of elements of one part.
  virtual absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                                const CallOptions& options) = 0;
  // `counts` has the number of elements of each rank.
  virtual absl::Status AllGatherUneven(const void* in, absl::Span<const size_t> counts, void* out,
                                       DataType type, const CallOptions& options) = 0;
  virtual absl::Status Barrier(const CallOptions& options) = 0;

  // Orders later calls after the work that is now on the caller's stream (CallOptions::stream).
  // Communicator calls this before each operation. Any thread may call it, even during an
  // operation. Does not block. By default, there are no streams.
  virtual absl::Status Follow(void* stream) { return absl::OkStatus(); }

  // Copies between two places of this process's memory that the backend can reach. By default, in
  // the CPU's memory.
  virtual absl::Status Copy(const void* from, void* to, size_t bytes, const CallOptions& options);

  // Returns the device for the log: "GPU 3 (NVIDIA H100)". Empty if there is nothing to say.
  virtual std::string device() const { return ""; }

  // Ends the call in progress and all later ones with `why`. Any thread may call this. Does not
  // block.
  virtual void Abort(const absl::Status& why) = 0;
};

// Returns "Send of 4 int32 to rank 2", "SendRecv of 4 int32 to rank 2 and of 5 from rank 0",
// "SendRecv of 3 messages to ranks 0,2 and of 1 from rank 2".
std::string DescribeExchange(absl::Span<const Message> sends, absl::Span<const Message> receives);

struct BackendKind {
  std::string name;
  // The usable backend with the highest priority is the default.
  int priority = 0;
  // Returns OK, or why this process cannot use the backend ("no GPU is visible").
  absl::Status (*usable)() = nullptr;
  // Connects the ranks, as a collective of the group. `options.timeout` is always set.
  absl::StatusOr<std::unique_ptr<Backend>> (*create)(const Group& group,
                                                     const CommunicatorOptions& options) = nullptr;
  // Whether buffers may be in memory that only this backend can reach. If so, a group of one uses
  // it too.
  bool device_memory = false;
  // Returns the device of a process with this local rank, "cuda:3", or why it has none. Null means
  // "cpu".
  absl::StatusOr<std::string> (*device)(int local_rank) = nullptr;
  // Returns how many bytes of device memory this process uses, or 0 if that is unknown. Null means
  // 0.
  int64_t (*device_memory_in_use)() = nullptr;
};

// Registers a backend. A static initializer in each backend's library (alwayslink = True) calls it,
// so linking a library makes the backend available. Returns true.
bool RegisterBackend(BackendKind kind);

// Returns all registered kinds, highest priority first.
std::vector<BackendKind> RegisteredBackends();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_H_
