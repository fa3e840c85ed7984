#include "tests/nccl/fake/nccl/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace fake_nccl {
namespace {

// One text for the whole process, whichever communicator is asked, as in NCCL.
std::mutex mutex;
char last_error[1024] = "";

void WarnWith(const char* format, va_list arguments) {
  const std::lock_guard<std::mutex> lock(mutex);
  std::vsnprintf(last_error, sizeof last_error, format, arguments);
  if (std::getenv("NCCL_DEBUG") != nullptr) std::fprintf(stderr, "NCCL WARN %s\n", last_error);
}

}  // namespace

void Warn(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  WarnWith(format, arguments);
  va_end(arguments);
}

ncclResult_t Refuse(ncclResult_t result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  WarnWith(format, arguments);
  va_end(arguments);
  return result;
}

ncclResult_t RefuseNull(const char* function) {
  return Refuse(ncclInvalidArgument, "%s : an argument is NULL", function);
}

}  // namespace fake_nccl

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  thread_local char text[sizeof fake_nccl::last_error];
  const std::lock_guard<std::mutex> lock(fake_nccl::mutex);
  std::memcpy(text, fake_nccl::last_error, sizeof text);
  return text;
}

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  const char* pretended = std::getenv("FAKE_NCCL_VERSION");
  *version = pretended == nullptr ? NCCL_VERSION_CODE : std::atoi(pretended);
  return ncclSuccess;
}

}  // extern "C"
