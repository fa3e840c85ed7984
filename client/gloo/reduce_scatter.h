#ifndef MUSTER_CLIENT_GLOO_REDUCE_SCATTER_H_
#define MUSTER_CLIENT_GLOO_REDUCE_SCATTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/src/base/reduction.h"
#include "gloo/context.h"

namespace muster::internal {

// out = this rank's part of the reduction of all ranks' `in`; `count` elements for each rank.
// Gloo's own works on int counts, reduces in place, and needs buffers bound to one pair. Throws
// what Gloo throws. `out` may be this rank's part of `in`.
void RingReduceScatter(const std::shared_ptr<gloo::Context>& context, const void* in, void* out,
                       size_t count, size_t element_size, ReduceFunction reduce, uint32_t tag);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_REDUCE_SCATTER_H_
