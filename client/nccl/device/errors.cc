#include "client/nccl/device/errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "common/text/utf8.h"

namespace muster::internal {
namespace {

absl::StatusCode CodeOf(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return absl::StatusCode::kOk;
    case ncclRemoteError:
    case ncclSystemError:
    case ncclInternalError:
      return absl::StatusCode::kUnavailable;
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

absl::Status MarkMayBeLostPeer(const absl::Status& status) {
  ErrorNote note = NoteOf(status);
  note.may_be_lost_peer = true;
  return WithNote(status, note);
}

// Returns whether CUDA says that after this error "the process must be terminated and relaunched"
// (driver_types.h).
bool IsSticky(cudaError_t error) {
  switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorIllegalAddress:
    case cudaErrorAssert:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
#if CUDART_VERSION >= 12080
    case cudaErrorContained:
#endif
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status CudaStatus(absl::string_view call, cudaError_t error) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  const std::string text = absl::StrCat(call, " failed: ", cudaGetErrorString(error), " (",
                                        cudaGetErrorName(error), ")");
  if (!IsSticky(error)) return absl::InternalError(text);
  return MarkMayBeLostPeer(absl::InternalError(
      absl::StrCat(text, "; this process can use its GPU no more: restart the process")));
}

absl::Status NcclStatus(absl::string_view what, ncclResult_t result) {
  const absl::Status status(CodeOf(result), absl::StrCat(what, ": ", NcclText(result)));
  return result == ncclUnhandledCudaError ? MarkMayBeLostPeer(status) : status;
}

bool MayBeLostPeer(const absl::Status& error) {
  return absl::IsUnavailable(error) || NoteOf(error).may_be_lost_peer;
}

std::string NcclText(ncclResult_t result) {
  const std::string last = LastNcclError();
  return absl::StrCat(
      "NCCL says: ", ncclGetErrorString(result),
      last.empty() ? "" : absl::StrCat("; NCCL's last error in this process: ", last));
}

std::string LastNcclError() {
  // NCCL ignores the communicator argument (src/init.cc): the text belongs to the process.
  const char* const last = ncclGetLastError(nullptr);
  return ReplaceUnprintable(absl::StripAsciiWhitespace(last == nullptr ? "" : last));
}

}  // namespace muster::internal
