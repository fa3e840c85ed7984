#include "client/gloo/collectives/connection_plane.h"

#include "client/gloo/connections/sigpipe_guard.h"

namespace muster::internal {

ConnectionPlane::ConnectionPlane(const GlooContext& context) : context_(context) {}

void ConnectionPlane::AllReduce(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  GlooAllReduce(context_, operation, in, out);
}

void ConnectionPlane::Reduce(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  GlooReduce(context_, operation, in, out);
}

void ConnectionPlane::Broadcast(const Operation& operation, void* data) {
  const SigpipeGuard guard;
  GlooBroadcast(context_, operation, data);
}

void ConnectionPlane::AllGather(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  GlooAllGather(context_, operation, in, out);
}

void ConnectionPlane::AllGatherUneven(const Operation& operation, const void* in,
                                      absl::Span<const size_t> counts, void* out) {
  const SigpipeGuard guard;
  GlooAllGatherUneven(context_, operation, in, counts, out);
}

void ConnectionPlane::ReduceScatter(const Operation& operation, const void* in, void* out) {
  const SigpipeGuard guard;
  GlooReduceScatter(context_, operation, in, out);
}

void ConnectionPlane::Barrier(const Operation& operation) {
  const SigpipeGuard guard;
  GlooBarrier(context_, operation);
}

}  // namespace muster::internal
