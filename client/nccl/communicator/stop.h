#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_H_

#include "client/nccl/communicator/handle.h"

namespace muster::internal {

// Stops a communicator that the calling thread has seized: by ncclCommRevoke, or by ncclCommAbort,
// which frees it too, if NCCL cannot revoke. Marks `handle` as stopped once NCCL confirms it. If
// NCCL reports a failure, `handle` does not change, and NCCL may still be working. The
// communicator's device must be current.
//
// Announces the stop first (stop_board.h), because the peers' kernels take what a stopped kernel
// leaves behind for data.
//
// Blocks until NCCL has stopped. NCCL waits for other communicators' kernels when it frees memory,
// so this may take as long as they run. It may take forever: a live CUDA graph keeps ncclCommAbort
// waiting after an ncclCommFinalize. So each communicator has its own thread for this call.
//
// How NCCL (2.22 to 2.30, src/init.cc and src/group.cc) behaves in these calls:
//   - ncclCommRevoke sets the abort flag, returns at once on a non-blocking communicator, and waits
//     for the device in a thread. At the end it clears the flag. It is rejected after
//     ncclCommFinalize, and needs a communicator whose initialization has completed.
//   - If the device or the proxies fail, that thread ends early. The asynchronous state is then an
//     error although kernels may be running. So only ncclSuccess means that NCCL has stopped. A
//     broken connection looks the same. In both cases ncclCommAbort follows.
//   - ncclCommRevoke ends a call in progress by ncclCommEnsureReady, whose ncclGroupJobAbort frees
//     the group job of that call and leaves comm->groupJob pointing to it. The next
//     ncclCommGetAsyncError that finds no error uses the freed job. Only an ncclCommGetAsyncError
//     that returns ncclSuccess clears the pointer. So a communicator that does not soon reach
//     ncclSuccess is aborted instead: ncclCommAbort takes the same path, but reads no state
//     afterwards.
//   - ncclCommAbort sets the abort flag, joins the thread of the call in progress, waits for the
//     communicator's streams, and frees memory, which waits for the device. In an NCCL group it
//     joins that thread before the group's next ncclCommAbort sets its flag. If that thread waits
//     for the other communicator's kernel, the other flag is never set. So several communicators
//     are aborted by several threads at once.
void StopCommunicator(NcclHandle& handle);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_H_
