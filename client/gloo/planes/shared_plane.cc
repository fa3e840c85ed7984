#include "client/gloo/planes/shared_plane.h"

#include <utility>
#include <vector>

namespace muster::internal {

SharedPlane::SharedPlane(std::unique_ptr<NodeMemory> memory, int ranks)
    : memory_(std::move(memory)), collectives_(memory_->collectives()), ranks_(ranks) {}

void SharedPlane::AllReduce(const Operation& operation, const void* in, void* out) {
  collectives_.AllReduce(operation.WideTag(), in, out, operation.bytes(),
                         Reduction(operation.type, operation.op));
}

void SharedPlane::Reduce(const Operation& operation, const void* in, void* out) {
  collectives_.Reduce(operation.WideTag(), in, out, operation.bytes(),
                      Reduction(operation.type, operation.op), operation.peer);
}

void SharedPlane::Broadcast(const Operation& operation, void* data) {
  collectives_.Broadcast(operation.WideTag(), data, operation.bytes(), operation.peer);
}

void SharedPlane::AllGather(const Operation& operation, const void* in, void* out) {
  const std::vector<size_t> parts(ranks_, operation.bytes());
  collectives_.AllGather(operation.WideTag(), in, parts, out);
}

void SharedPlane::AllGatherUneven(const Operation& operation, const void* in,
                                  absl::Span<const size_t> counts, void* out) {
  std::vector<size_t> parts;
  for (const size_t count : counts) parts.push_back(count * SizeOf(operation.type));
  collectives_.AllGather(operation.WideTag(), in, parts, out);
}

void SharedPlane::ReduceScatter(const Operation& operation, const void* in, void* out) {
  collectives_.ReduceScatter(operation.WideTag(), in, out, operation.bytes(),
                             Reduction(operation.type, operation.op));
}

void SharedPlane::Barrier(const Operation& operation) { collectives_.Barrier(operation.WideTag()); }

}  // namespace muster::internal
