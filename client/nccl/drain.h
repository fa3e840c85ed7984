#ifndef MUSTER_CLIENT_NCCL_DRAIN_H_
#define MUSTER_CLIENT_NCCL_DRAIN_H_

#include "client/nccl/communicator/handle.h"
#include "client/src/base/deadline.h"

namespace muster::internal {

// Blocks until the data that this rank has sent has left it, before the communicator is finalized.
// A collective of all ranks of the communicator: blocks until each has called it or `deadline` has
// passed. An error ends the communicator. Does nothing unless the loaded NCCL needs it.
//
// Before 2.24, NCCL's proxy thread drops the work that it has not begun when it is told to stop
// (src/proxy.cc, ncclProxyGetPostedOps). A kernel that only sends, such as the root's part of a
// broadcast, completes before that:
//
//   root:  Broadcast, Wait: OK, finalize   (the proxy thread has not run yet, and sends nothing)
//   peer:  Broadcast, Wait ...             (without end)
//
// So all ranks make an all-reduce first. It completes on a rank only when all its proxies have
// begun it, and proxies begin work in the order in which they get it.
void Drain(NcclHandle& handle, const Deadline& deadline);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_DRAIN_H_
