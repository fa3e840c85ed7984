#ifndef MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
#define MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gloo/collective_plane.h"
#include "client/gloo/collectives.h"
#include "client/gloo/communicator_end.h"
#include "client/gloo/gloo_peer_info.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/mesh.h"
#include "client/gloo/node_layout.h"
#include "client/gloo/operation.h"
#include "client/src/data_plane/backend.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// Gloo's collectives on CPU memory; where ranks are on one node, our own on memory that they share,
// and over Gloo's connections from node to node, for all but messages and AllToAll. Linking
// //client/gloo registers it as "gloo".
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

  absl::Status Assemble(const CommunicatorOptions& options);
  absl::Status Connect(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  absl::Status Meet(const Deadline& deadline);
  absl::Status ShareMemory(const std::vector<GlooPeerInfo>& infos, const Deadline& deadline);
  // This rank's part of its node's memory, and in `nodes` what becomes of those that share none.
  absl::StatusOr<std::unique_ptr<SharedRegion>> OpenRegion(const std::vector<GlooPeerInfo>& infos,
                                                           const Deadline& deadline,
                                                           NodeLayout* nodes);
  void ChoosePlane(std::unique_ptr<SharedRegion> region, const NodeLayout& nodes);
  // What all ranks say. `number` tells these questions apart.
  absl::StatusOr<std::vector<bool>> TellAll(bool yes, uint64_t number, const Deadline& deadline);

  // One of the passes of a coalesced all-reduce.
  absl::Status AllReducePass(absl::Span<const Buffer> buffers, DataType type, ReduceOp op,
                             const CallOptions& options);

  Operation NextCollective(OperationKind kind, size_t count, DataType type);
  // An operation on no elements, which Gloo refuses, is only counted.
  absl::Status RunOverConnections(const Operation& operation, const CallOptions& options,
                                  absl::FunctionRef<void(const GlooContext&)> call);
  absl::Status Run(const Operation& operation, const CallOptions& options,
                   absl::FunctionRef<void(CollectivePlane&)> call);
  // Run() as a part of a longer call.
  absl::Status RunPart(const Operation& operation, const Deadline& whole,
                       absl::FunctionRef<void(CollectivePlane&)> call);
  absl::Status RunCall(const Operation& operation, const CallOptions& options,
                       absl::FunctionRef<void()> call);
  // Calls, until the options say to stop. Returns what stopped the call, unless that was the
  // interruptor.
  CallFailure Attempt(const CallOptions& options, absl::FunctionRef<void()> call);
  // Drops the connections and the memory. The communicator has ended.
  void Disconnect();

  const Group group_;
  Interruptor interruptor_;
  CommunicatorEnd end_;
  std::unique_ptr<Mesh> mesh_;              // null once the communicator has ended
  std::unique_ptr<CollectivePlane> plane_;  // likewise
  uint64_t collectives_ = 0;
  std::vector<uint64_t> sent_;      // messages, by peer
  std::vector<uint64_t> received_;  // likewise
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
