#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_GLOO_COLLECTIVES_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_GLOO_COLLECTIVES_H_

#include <memory>

#include "absl/types/span.h"
#include "client/gloo/collectives/operation.h"
#include "gloo/context.h"

// Gloo's collectives on untyped memory. `operation` gives the count, element type, reduction, and
// root or peer. All functions block, and throw what Gloo throws.
namespace muster::internal {

using GlooContext = std::shared_ptr<gloo::Context>;

void GlooAllReduce(const GlooContext& context, const Operation& operation, const void* in,
                   void* out);
void GlooBroadcast(const GlooContext& context, const Operation& operation, void* data);
// Writes `out` on the root only.
void GlooReduce(const GlooContext& context, const Operation& operation, const void* in, void* out);
void GlooAllGather(const GlooContext& context, const Operation& operation, const void* in,
                   void* out);
void GlooReduceScatter(const GlooContext& context, const Operation& operation, const void* in,
                       void* out);
// Sends and receives all messages at the same time. Skips messages without elements.
void GlooExchange(const GlooContext& context, absl::Span<const NumberedMessage> sending,
                  absl::Span<const NumberedMessage> receiving);
void GlooAllToAll(const GlooContext& context, const Operation& operation, const void* in,
                  void* out);
// Gathers parts of different sizes; `counts` has the number of elements of each rank.
void GlooAllGatherUneven(const GlooContext& context, const Operation& operation, const void* in,
                         absl::Span<const size_t> counts, void* out);
void GlooBarrier(const GlooContext& context, const Operation& operation);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_GLOO_COLLECTIVES_H_
