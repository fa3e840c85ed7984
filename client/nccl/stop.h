#ifndef MUSTER_CLIENT_NCCL_STOP_H_
#define MUSTER_CLIENT_NCCL_STOP_H_

#include "client/nccl/handle.h"

namespace muster::internal {

// Makes NCCL stop a communicator that the calling thread has seized: by ncclCommRevoke, or by
// ncclCommAbort where NCCL cannot revoke, which frees it too. Marks `handle` as stopped once NCCL
// says so; if NCCL reports a failure, it stays as it is, and may still be at work. The
// communicator's device must be current.
//
// The peers' kernels take what a stopped kernel leaves behind for data, so the stop is announced
// before (stop_board.h).
//
// Blocks until NCCL has stopped. That may take as long as another communicator's kernel, for which
// NCCL waits when it frees memory, or for ever: a live CUDA graph keeps ncclCommAbort waiting after
// an ncclCommFinalize. So each communicator has a thread of its own for this call.
//
// What NCCL (2.22 to 2.30, src/init.cc and src/group.cc) does in these calls:
//   - ncclCommRevoke sets the abort flag, returns at once on a non-blocking communicator, and waits
//     for the device in a thread. At the end it clears the flag. It is refused after
//     ncclCommFinalize, and needs a communicator whose initialization has completed.
//   - If the device or the proxies fail, that thread ends early. The asynchronous state then is an
//     error although kernels may be running. So only ncclSuccess means that NCCL has stopped. A
//     broken connection reads the same, and either is followed by ncclCommAbort.
//   - ncclCommRevoke ends a call in progress by ncclCommEnsureReady, whose ncclGroupJobAbort frees
//     the group job of that call and leaves comm->groupJob pointing to it; the next
//     ncclCommGetAsyncError that finds no error uses it. Only an ncclCommGetAsyncError that says
//     ncclSuccess clears the pointer. So what does not say so soon is aborted: ncclCommAbort goes
//     the same way, but asks for no state afterwards.
//   - ncclCommAbort sets the abort flag, joins the thread of the call in progress, waits for the
//     communicator's streams, and frees, which waits for the device. In an NCCL group, too, it
//     joins that thread before the next ncclCommAbort of the group sets its flag; if that thread
//     waits for the other communicator's kernel, no flag of that one is ever set. So several
//     communicators are aborted by as many threads at once.
void StopCommunicator(NcclHandle& handle);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOP_H_
