#include "client/nccl/errors.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

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

}  // namespace

absl::Status CudaStatus(absl::string_view call, cudaError_t error) {
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();
  return absl::InternalError(absl::StrCat(call, " failed: ", cudaGetErrorString(error), " (",
                                          cudaGetErrorName(error), ")"));
}

absl::Status NcclStatus(absl::string_view what, ncclResult_t result) {
  return absl::Status(CodeOf(result), absl::StrCat(what, ": ", NcclText(result)));
}

std::string NcclText(ncclResult_t result) {
  const std::string last = LastNcclError();
  return absl::StrCat("NCCL says: ", ncclGetErrorString(result),
                      last.empty() ? "" : absl::StrCat("; its last error: ", last));
}

std::string LastNcclError() {
  // The communicator is not looked at (src/init.cc): the text is the process's.
  const char* const last = ncclGetLastError(nullptr);
  return Printable(absl::StripAsciiWhitespace(last == nullptr ? "" : last));
}

}  // namespace muster::internal
