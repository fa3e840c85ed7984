#ifndef MUSTER_CLIENT_NCCL_STOP_H_
#define MUSTER_CLIENT_NCCL_STOP_H_

#include <memory>
#include <vector>

#include "client/nccl/handle.h"

namespace muster::internal {

// Stops communicators that have ended: by ncclCommRevoke, all of them before one is waited for, or,
// where NCCL cannot revoke, by ncclCommAbort of all in one NCCL group, which frees them too. Those
// that a thread is inside of and does not leave soon are left alone; false if they all are. Blocks;
// meant for a thread of its own.
//
// What NCCL (2.22 to 2.31, src/init.cc) does in these calls:
//   - ncclCommRevoke returns at once on a non-blocking communicator and works in a thread; it is
//     refused after ncclCommFinalize, and needs a communicator whose initialization has completed.
//   - ncclCommRevoke ends a call in progress by ncclCommEnsureReady, whose ncclGroupJobAbort frees
//     the group job of that call (src/group.cc) and leaves comm->groupJob pointing to it; the next
//     ncclCommGetAsyncError that finds no error uses it. Only an ncclCommGetAsyncError that says
//     ncclSuccess clears the pointer. So what does not say so soon is aborted: ncclCommAbort
//     goes the same way, but asks for no state afterwards.
//   - ncclCommAbort sets the abort flag, joins the thread of the call in progress, and frees. It
//     blocks even on a non-blocking communicator (a communicator that is being destroyed makes its
//     group a blocking one, src/group.cc), so for several ranks on one GPU, or several
//     communicators, it has to be within one group.
bool StopTogether(const std::vector<std::shared_ptr<NcclHandle>>& handles);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOP_H_
