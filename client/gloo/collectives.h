#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_H_

#include <memory>

#include "absl/types/span.h"
#include "client/gloo/operation.h"
#include "gloo/context.h"

// Gloo's collectives on untyped memory. `operation` gives count, element type, reduction and root
// or peer. All of them block, and throw what Gloo throws.
namespace muster::internal {

using GlooContext = std::shared_ptr<gloo::Context>;

void GlooAllReduce(const GlooContext& context, const Operation& operation, const void* in,
                   void* out);
void GlooBroadcast(const GlooContext& context, const Operation& operation, void* data);
// `out` is used on the root only.
void GlooReduce(const GlooContext& context, const Operation& operation, const void* in, void* out);
void GlooAllGather(const GlooContext& context, const Operation& operation, const void* in,
                   void* out);
void GlooReduceScatter(const GlooContext& context, const Operation& operation, const void* in,
                       void* out);
// All at once; messages without elements are left out.
void GlooExchange(const GlooContext& context, absl::Span<const NumberedMessage> sending,
                  absl::Span<const NumberedMessage> receiving);
void GlooAllToAll(const GlooContext& context, const Operation& operation, const void* in,
                  void* out);
// `counts` has the elements of each rank.
void GlooAllGatherUneven(const GlooContext& context, const Operation& operation, const void* in,
                         absl::Span<const size_t> counts, void* out);
void GlooBarrier(const GlooContext& context, const Operation& operation);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_H_
