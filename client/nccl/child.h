#ifndef MUSTER_CLIENT_NCCL_CHILD_H_
#define MUSTER_CLIENT_NCCL_CHILD_H_

#include <nccl.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/nccl/handle.h"
#include "client/src/patience.h"

namespace muster::internal {

// Makes `child` (null: this rank gets none) ready with a communicator that NCCL makes of
// `parent`'s: `begin` calls ncclCommSplit or ncclCommShrink. Those write the new communicator to
// `made` from a thread of NCCL, at their end (src/init.cc, ncclCommInitChildComm), and the parent's
// state says when that is. A failure ends `parent` too: that is how NCCL's thread is ended.
absl::Status MakeChild(const std::shared_ptr<NcclHandle>& parent, NcclHandle* child,
                       absl::string_view what, const Patience& patience,
                       absl::FunctionRef<ncclResult_t(ncclComm_t parent, ncclComm_t* made)> begin);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_CHILD_H_
