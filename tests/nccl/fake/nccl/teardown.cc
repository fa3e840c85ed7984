// The ends of a communicator: Finalize, Destroy, Abort, Revoke.

#include <chrono>
#include <thread>

#include "tests/nccl/cuda/fake_cuda.h"
#include "tests/nccl/fake/nccl/comm.h"
#include "tests/nccl/fake/nccl/error.h"
#include "tests/nccl/fake/nccl/fault.h"
#include "tests/nccl/fake/nccl/operations/group_calls.h"

namespace fake_nccl {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);

// Waits for the communicator's kernels, which end soon after an abort. Returns false if aborted.
bool AwaitKernels(ncclComm_t comm) {
  std::unique_lock<std::mutex> lock(comm->mutex);
  comm->changed.wait(lock, [&] { return comm->completed == comm->launched; });
  return !comm->abort;
}

void AwaitJobs(ncclComm_t comm) {
  std::unique_lock<std::mutex> lock(comm->mutex);
  comm->changed.wait(lock, [&] { return comm->jobs == 0; });
}

// Tells the other ranks that this rank is not lost. Like NCCL, waits for none of them.
void AnnounceFinalize(ncclComm_t comm) {
  for (int peer = 0; peer < comm->size; ++peer) {
    comm->mesh->Send(peer, MessageKind::kFinalize, 0, nullptr, 0, comm->abort);
  }
}

[[noreturn]] void HangForever() {
  while (true) std::this_thread::sleep_for(kPoll);
}

ncclResult_t Finalize(ncclComm_t comm) {
  if (Fault("finalize-error")) {
    return Refuse(ncclRemoteError, "NET/Socket : remote peer closed the connection");
  }
  const bool hangs = Fault("finalize-hang").has_value();
  while (hangs && !comm->abort) std::this_thread::sleep_for(kPoll);
  if (!AwaitKernels(comm)) return Refuse(ncclInternalError, "finalize: abort called");
  AnnounceFinalize(comm);
  return ncclSuccess;
}

ncclResult_t BeginFinalize(ncclComm_t comm) {
  if (ncclResult_t ready = EnsureReady(comm); ready != ncclSuccess) return ready;
  if (comm->finalized || comm->revoked) {
    return Refuse(ncclInvalidArgument, "communicator is finalized or revoked");
  }
  comm->finalized = true;
  AddJob(comm, [comm] { return Finalize(comm); });
  return ncclSuccess;
}

// Ends the process if NCCL would refuse to destroy. NCCL then keeps all that the communicator
// holds, and leaves the calling thread inside a group (init.cc, ncclCommDestroy), so that the
// thread's later calls do nothing.
void CheckMayBeDestroyed(ncclComm_t comm) {
  const ncclResult_t state = StateOf(comm);
  if (state != ncclSuccess) {
    fake_cuda::Violation(
        "ncclCommDestroy on a communicator whose state is '%s': only "
        "ncclCommAbort frees it",
        ncclGetErrorString(state));
  }
}

}  // namespace
}  // namespace fake_nccl

extern "C" {

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  using namespace fake_nccl;
  if (comm == nullptr) return ncclSuccess;
  const Call call(comm, __func__);
  return RunInGroup(&comm, [&] { return BeginFinalize(comm); });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  using namespace fake_nccl;
  if (comm == nullptr) return ncclSuccess;
  const Call call(comm, __func__);
  CheckMayBeDestroyed(comm);
  return RunInGroup(nullptr, [&] {
    AddFreeing(comm, [comm] {
      if (!comm->finalized && !comm->revoked) Finalize(comm);
      Free(comm);
    });
    return ncclSuccess;
  });
}

// Stops at once, and joins the call in progress, even inside a group. Frees at the end of the
// group.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  using namespace fake_nccl;
  if (comm == nullptr) return ncclSuccess;
  const Call call(comm, __func__);
  SetAbort(comm, true);
  AwaitJobs(comm);
  if (Fault("abort-hang")) HangForever();
  return RunInGroup(nullptr, [&] {
    AddFreeing(comm, [comm] { Free(comm); });
    return ncclSuccess;
  });
}

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 7)
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
  using namespace fake_nccl;
  if (comm == nullptr) return ncclSuccess;
  const Call call(comm, __func__);
  if (comm->finalized || comm->revoked || flags != NCCL_REVOKE_DEFAULT) {
    return Refuse(ncclInvalidArgument, "communicator is finalized or revoked, or unknown flags");
  }
  if (!comm->initialized) {
    fake_cuda::Violation("ncclCommRevoke before the communicator is initialized: NCCL crashes");
  }
  if (!comm->blocking && comm->has_group_job) {
    fake_cuda::Violation(
        "ncclCommRevoke before ncclCommGetAsyncError has said that the last call is complete: NCCL "
        "frees what the next ncclCommGetAsyncError uses");
  }
  if (Fault("revoke-error")) return ncclInternalError;
  SetAbort(comm, true);
  comm->revoked = true;
  AwaitJobs(comm);
  return RunInGroup(&comm, [&] {
    AddJob(comm, [comm] {
      if (Fault("revoke-late-error")) {
        return Refuse(ncclUnhandledCudaError, "Cuda failure 719 'unspecified launch failure'");
      }
      AwaitKernels(comm);
      if (Fault("revoke-hang")) HangForever();
      SetAbort(comm, false);
      return ncclSuccess;
    });
    return ncclSuccess;
  });
}
#endif

}  // extern "C"
