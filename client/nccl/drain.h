#ifndef MUSTER_CLIENT_NCCL_DRAIN_H_
#define MUSTER_CLIENT_NCCL_DRAIN_H_

#include "client/nccl/handle.h"
#include "client/src/base/deadline.h"

namespace muster::internal {

// Makes sure that what this rank has sent leaves it before the communicator is finalized. A
// collective of all its ranks, which blocks until each has come or `deadline` has passed; an error
// ends the communicator. Does nothing unless the NCCL that is loaded needs it.
//
// Before 2.24, NCCL's proxy thread drops the work that it has not begun when it is told to stop
// (src/proxy.cc, ncclProxyGetPostedOps). A kernel that only sends, such as the root's part of a
// broadcast, is done before that:
//
//   root:  Broadcast, Wait: OK, finalize   (the proxy thread has not run yet, and sends nothing)
//   peer:  Broadcast, Wait ...             (without end)
//
// An all-reduce completes on a rank only when all its proxies have begun it, and they begin what
// they are given in order.
void Drain(NcclHandle& handle, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DRAIN_H_
