#include "client/nccl/child.h"

namespace muster::internal {
namespace {

// Gives the child what NCCL has made, ready or not.
absl::Status Adopt(NcclHandle* child, absl::string_view what, const Patience& patience,
                   ncclComm_t made) {
  if (child == nullptr || made == nullptr) return absl::OkStatus();
  return child->Initialize(what, patience, [&](ncclComm_t* comm) {
    *comm = made;
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
  if (status.ok()) return Adopt(child, what, patience, *made);
  parent->Fail(status);
  if (parent->AwaitStopped(SteadyClock::now() + absl::ToChronoNanoseconds(NcclHandle::kStopWait))) {
    // Unfinished, for its end only.
    static_cast<void>(Adopt(child, what, patience, *made));
  } else {
    static_cast<void>(made.release());  // NCCL's thread may write to it yet
  }
  return status;
}

}  // namespace muster::internal
