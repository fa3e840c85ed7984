#ifndef MUSTER_CLIENT_GLOO_COLLECTIVES_REDUCE_SCATTER_H_
#define MUSTER_CLIENT_GLOO_COLLECTIVES_REDUCE_SCATTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/src/base/reduction.h"
#include "gloo/context.h"

namespace muster::internal {

// Reduces all ranks' `in`, and writes this rank's part of the result to `out`, which may be this
// rank's part of `in`. Each part has `count` elements. Throws what Gloo throws. Used instead of
// Gloo's own reduce-scatter, which takes int counts, reduces in place, and needs buffers bound to
// one pair.
void RingReduceScatter(const std::shared_ptr<gloo::Context>& context, const void* in, void* out,
                       size_t count, size_t element_size, ReduceFunction reduce, uint32_t tag);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_COLLECTIVES_REDUCE_SCATTER_H_
