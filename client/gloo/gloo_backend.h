#ifndef MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
#define MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "client/gloo/collective_plane.h"
#include "client/gloo/collectives.h"
#include "client/gloo/interruptor.h"
#include "client/gloo/mesh.h"
#include "client/gloo/node_layout.h"
#include "client/gloo/operation.h"
#include "client/gloo/peer_ends.h"
#include "client/gloo/peer_info.h"
#include "client/src/base/deadline.h"
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
  absl::Status Connect(const std::vector<GlooPeerInfo>& infos, absl::Duration timeout,
                       Cancellation* cancellation);
  absl::Status Meet(const CallOptions& options);
  absl::Status ShareMemory(const std::vector<GlooPeerInfo>& infos, const CallOptions& options);
  // This rank's part of its node's memory, and in `nodes` what becomes of those that share none.
  absl::StatusOr<std::unique_ptr<SharedRegion>> OpenRegion(const std::vector<GlooPeerInfo>& infos,
                                                           const CallOptions& options,
                                                           NodeLayout* nodes);
  void ChoosePlane(std::unique_ptr<SharedRegion> region, const NodeLayout& nodes);
  // What all ranks say. `number` tells these questions apart.
  absl::StatusOr<std::vector<bool>> TellAll(bool yes, uint64_t number, const CallOptions& options);
  void Patrol();

  // One of the passes of a coalesced all-reduce.
  absl::Status AllReducePass(absl::Span<const Buffer> buffers, DataType type, ReduceOp op,
                             const CallOptions& options);

  Operation NextCollective(OperationKind kind, size_t count, DataType type);
  // An operation on no elements, which Gloo refuses, is only counted.
  absl::Status RunOverConnections(const Operation& operation, const CallOptions& options,
                                  absl::FunctionRef<void(const GlooContext&)> call);
  absl::Status Run(const Operation& operation, const CallOptions& options,
                   absl::FunctionRef<void(CollectivePlane&)> call);
  absl::Status RunCall(const Operation& operation, const CallOptions& options,
                       absl::FunctionRef<void()> call);

  // What ended an operation that did not complete.
  struct Failure {
    std::string reason;        // Gloo's; empty where the interruptor ended it
    std::vector<int> awaited;  // ranks that it was waiting for, where known
    int ended = -1;            // the rank that was seen to have ended, where one was
  };
  // The operation's error. Tells the peers, and closes the connections.
  absl::Status End(const Operation& operation, const Deadline& deadline, const Failure& failure);
  absl::Status ExplainInterruption(const Operation& operation, absl::Duration timeout,
                                   const Failure& failure) const;
  absl::Status ExplainBreak(const Operation& operation, const Failure& failure,
                            const Deadline& deadline, PeerEnd* words);
  int AwaitCulprit(int ended, const Deadline& deadline);
  void Close(const PeerEnd* words);

  const Group group_;
  Interruptor interruptor_;
  std::unique_ptr<Mesh> mesh_;              // null once the communicator has ended
  std::unique_ptr<CollectivePlane> plane_;  // likewise
  uint64_t collectives_ = 0;
  std::vector<uint64_t> sent_;      // messages, by peer
  std::vector<uint64_t> received_;  // likewise
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_GLOO_BACKEND_H_
