#ifndef MUSTER_CLIENT_NCCL_STOP_H_
#define MUSTER_CLIENT_NCCL_STOP_H_

#include <memory>
#include <vector>

#include "client/nccl/handle.h"

namespace muster::internal {

// Stops communicators that have ended: by ncclCommRevoke, all of them before one is waited for, or,
// where NCCL cannot revoke, by ncclCommAbort of all in one NCCL group, which frees them too. Those
// whose call in progress does not end soon are left for the next time. Blocks; meant for a thread
// of its own.
//
// What NCCL (2.22 to 2.31, src/init.cc) does in these calls:
//   - ncclCommRevoke returns at once on a non-blocking communicator and works in a thread; it is
//     refused after ncclCommFinalize, and needs a communicator whose initialization has completed.
//   - ncclCommAbort sets the abort flag, joins the thread of the call in progress, and frees. It
//     blocks even on a non-blocking communicator (a communicator that is being destroyed makes its
//     group a blocking one, src/group.cc), so for several ranks on one GPU, or several
//     communicators, it has to be within one group.
void StopTogether(const std::vector<std::shared_ptr<NcclHandle>>& handles);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOP_H_
