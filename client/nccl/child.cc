#include "client/nccl/child.h"

namespace muster::internal {
namespace {

SteadyTime StopDeadline() {
  return SteadyClock::now() + absl::ToChronoNanoseconds(NcclHandle::kStopWait);
}

// Makes the child ready with what NCCL has made. *adopted: the child has it, and frees it.
absl::Status Adopt(NcclHandle& child, absl::string_view what, const Patience& patience,
                   ncclComm_t made, bool* adopted) {
  return child.Initialize(what, patience, [&](ncclComm_t* comm) {
    *comm = made;
    *adopted = true;
    ncclResult_t state = ncclSuccess;
    const ncclResult_t called = ncclCommGetAsyncError(made, &state);
    return called == ncclSuccess ? state : called;
  });
}

}  // namespace

absl::Status MakeChild(const std::shared_ptr<NcclHandle>& parent, NcclHandle* child,
                       absl::string_view what, const Patience& patience,
                       absl::FunctionRef<ncclResult_t(ncclComm_t, ncclComm_t*)> begin) {
  auto made = std::make_unique<ncclComm_t>(nullptr);
  const auto call = [&](ncclComm_t comm) { return begin(comm, made.get()); };
  const auto watch = [child] { return child == nullptr ? absl::OkStatus() : child->health(); };
  const bool ended = !parent->health().ok();
  absl::Status status =
      ended ? parent->RunOnRevoked(what, patience, watch, call) : parent->Run(what, patience, call);
  bool adopted = false;
  if (status.ok()) {
    if (child == nullptr || *made == nullptr) return absl::OkStatus();
    status = Adopt(*child, what, patience, *made, &adopted);
    // An error of the child ends the child; the parent is as it was.
    if (status.ok() || adopted) return status;
  } else {
    parent->Fail(status);
    if (!parent->AwaitStopped(StopDeadline())) {
      static_cast<void>(made.release());  // NCCL's thread may write to it yet
      return status;
    }
  }
  // NCCL has made it all the same: a loss, or a deadline, came in between.
  if (*made != nullptr) child->TakeOver(*made, status, StopDeadline());
  return status;
}

}  // namespace muster::internal
