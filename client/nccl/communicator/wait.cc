#include "client/nccl/communicator/wait.h"

#include "absl/strings/str_cat.h"
#include "client/nccl/communicator/poll_pacer.h"
#include "client/nccl/device/errors.h"

namespace muster::internal {
namespace {

absl::Status Expired(const NcclHandle& handle, absl::string_view what, const Deadline& deadline,
                     absl::StatusCode code) {
  if (code == absl::StatusCode::kCancelled) {
    return absl::CancelledError(absl::StrCat(handle.Title(what), " was cancelled"));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      handle.Title(what), " did not end within ", absl::FormatDuration(deadline.timeout()),
      "; all ranks must make the same calls in the same order with the same sizes"));
}

// Returns cudaStreamQuery(), and clears "not ready", which it leaves behind as CUDA's last error.
cudaError_t Query(cudaStream_t stream) {
  const cudaError_t state = cudaStreamQuery(stream);
  if (state == cudaErrorNotReady) cudaGetLastError();
  return state;
}

// Returns the first error of stream, communicator and deadline. Sets *done once the stream is
// empty.
absl::Status CheckOnce(NcclHandle& handle, cudaStream_t stream, absl::string_view what,
                       const Deadline& deadline, bool* done) {
  const cudaError_t state = Query(stream);
  if (state != cudaSuccess && state != cudaErrorNotReady) {
    return CudaStatus(handle.Title(what), state);
  }
  // Polls before it trusts an idle stream: a communicator that was stopped leaves its streams empty
  // too.
  if (absl::Status status = handle.Poll(what); !status.ok()) return status;
  *done = state == cudaSuccess;
  if (*done) return absl::OkStatus();
  const absl::Status expired = deadline.Check();
  return expired.ok() ? expired : Expired(handle, what, deadline, expired.code());
}

absl::Status OwnExpired(absl::string_view what, const Deadline& deadline, absl::StatusCode code) {
  if (code == absl::StatusCode::kCancelled) {
    return absl::CancelledError(absl::StrCat(what, " was cancelled"));
  }
  return absl::DeadlineExceededError(absl::StrCat(what, " did not end within ",
                                                  absl::FormatDuration(deadline.timeout()),
                                                  "; look at what the program has on its streams"));
}

// Waits until the kernels of a stopped communicator have ended, which an idle stream shows.
void AwaitIdleStream(cudaStream_t stream) {
  const SteadyTime deadline = After(SteadyClock::now(), NcclHandle::kStopWait);
  for (PollPacer pace; Query(stream) == cudaErrorNotReady && SteadyClock::now() < deadline;) {
    pace.Pause();
  }
}

}  // namespace

absl::Status AwaitStream(NcclHandle& handle, cudaStream_t stream, absl::string_view what,
                         const Deadline& deadline) {
  PollPacer pace;
  bool done = false;
  absl::Status status;
  while (true) {
    status = CheckOnce(handle, stream, what, deadline, &done);
    if (done || !status.ok()) break;
    pace.Pause();
  }
  if (status.ok()) return status;
  status = handle.End(status);
  AwaitIdleStream(stream);
  return status;
}

absl::Status AwaitOwnStream(cudaStream_t stream, absl::string_view what, const Deadline& deadline) {
  for (PollPacer pace;; pace.Pause()) {
    const cudaError_t state = Query(stream);
    if (state != cudaErrorNotReady) return CudaStatus(what, state);
    const absl::Status expired = deadline.Check();
    if (!expired.ok()) return OwnExpired(what, deadline, expired.code());
  }
}

}  // namespace muster::internal
