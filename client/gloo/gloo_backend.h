#ifndef MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
#define MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gloo/collectives/collective_plane.h"
#include "client/gloo/collectives/gloo_collectives.h"
#include "client/gloo/collectives/operation.h"
#include "client/gloo/communicator_teardown.h"
#include "client/gloo/connections/gloo_peer_info.h"
#include "client/gloo/connections/interrupter.h"
#include "client/gloo/connections/mesh.h"
#include "client/gloo/node_memory/node_layout.h"
#include "client/src/data_plane/backend.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// The backend "gloo": collectives on CPU memory. Linking //client/gloo registers it. Ranks of one
// node use our own collectives on memory that they share; ranks of different nodes use Gloo's
// connections. Messages and AllToAll always use connections. README.md describes the planes and how
// the ranks choose one. Tests: tests/client/gloo.
class GlooBackend final : public Backend {
 public:
  static absl::StatusOr<std::unique_ptr<Backend>> Create(const Group& group,
                                                         const CommunicatorOptions& options);
  ~GlooBackend() override;

  absl::Status CheckSupport(DataType type, std::optional<ReduceOp> op) const override;
  absl::Status AllReduce(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                         const CallOptions& options) override;
  absl::Status Broadcast(void* data, size_t count, DataType type, int root,
                         const CallOptions& options) override;
  absl::Status Reduce(const void* in, void* out, size_t count, DataType type, ReduceOp op, int root,
                      const CallOptions& options) override;
  absl::Status AllGather(const void* in, void* out, size_t count, DataType type,
                         const CallOptions& options) override;
  absl::Status ReduceScatter(const void* in, void* out, size_t count, DataType type, ReduceOp op,
                             const CallOptions& options) override;
  absl::Status AllReduceCoalesced(absl::Span<const Buffer> buffers, DataType type, ReduceOp op,
                                  const CallOptions& options) override;
  absl::Status Exchange(absl::Span<const Message> sends, absl::Span<const Message> receives,
                        const CallOptions& options) override;
  absl::Status AllToAll(const void* in, void* out, size_t count, DataType type,
                        const CallOptions& options) override;
  absl::Status AllGatherUneven(const void* in, absl::Span<const size_t> counts, void* out,
                               DataType type, const CallOptions& options) override;
  absl::Status Barrier(const CallOptions& options) override;
  void Abort(const absl::Status& why) override;

 private:
  explicit GlooBackend(const Group& group);

  // Creates the communicator in three steps. Connect() makes the connections, AwaitAllRanks() waits
  // for all ranks, and ShareMemory() opens the shared memory and chooses the plane.
  absl::Status Assemble(const CommunicatorOptions& options);
  absl::Status Connect(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  absl::Status AwaitAllRanks(const Deadline& deadline);
  absl::Status ShareMemory(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  // Opens this rank's part of its node's memory. Sets `*nodes` to the layout in use: ranks of a
  // node that cannot share count as nodes of one rank. Returns an error, with `*nodes` still set,
  // if this rank shares no memory.
  absl::StatusOr<std::unique_ptr<SharedRegion>> OpenRegion(const std::vector<GlooPeerInfo>& infos,
                                                           const Deadline& deadline,
                                                           NodeLayout* nodes);
  void ChoosePlane(std::unique_ptr<SharedRegion> region, const NodeLayout& nodes);
  // Sends `value` to all ranks and returns what each of them sent. `number` tells these calls
  // apart.
  absl::StatusOr<std::vector<bool>> AllGatherBool(bool value, uint64_t number,
                                                  const Deadline& deadline);

  // Runs one pass of a coalesced all-reduce.
  absl::Status AllReducePass(absl::Span<const Buffer> buffers, DataType type, ReduceOp op,
                             const CallOptions& options);

  Operation NextCollective(OperationKind kind, size_t count, DataType type);
  // Runs `call` over connections, whatever the plane. An operation on no elements, which Gloo
  // rejects, is only counted.
  absl::Status RunOverConnections(const Operation& operation, const CallOptions& options,
                                  absl::FunctionRef<void(const GlooContext&)> call);
  absl::Status Run(const Operation& operation, const CallOptions& options,
                   absl::FunctionRef<void(CollectivePlane&)> call);
  // Runs a part of a longer call, with the time that is left of the whole.
  absl::Status RunPart(const Operation& operation, const Deadline& whole,
                       absl::FunctionRef<void(CollectivePlane&)> call);
  absl::Status RunCall(const Operation& operation, const CallOptions& options,
                       absl::FunctionRef<void()> call);
  // Runs `call` until it completes or the options stop it. If it does not complete, calls `fail`
  // at least once, with what stopped it, or an empty record if the interrupter did.
  void Attempt(const CallOptions& options, absl::FunctionRef<void()> call,
               absl::FunctionRef<void(const CallFailure&)> fail);
  // Drops the connections and the memory. Called once the communicator has ended.
  void Disconnect();

  const Group group_;
  Interrupter interrupter_;
  CommunicatorTeardown teardown_;
  std::unique_ptr<Mesh> mesh_;              // null once the communicator has ended
  std::unique_ptr<CollectivePlane> plane_;  // null once the communicator has ended
  uint64_t collectives_ = 0;
  std::vector<uint64_t> sent_;      // number of messages, by peer
  std::vector<uint64_t> received_;  // number of messages, by peer
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
