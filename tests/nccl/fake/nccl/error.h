#ifndef MUSTER_TESTS_NCCL_FAKE_NCCL_ERROR_H_
#define MUSTER_TESTS_NCCL_FAKE_NCCL_ERROR_H_

#include <nccl.h>

namespace fake_nccl {

// Sets the text of ncclGetLastError, and prints it if NCCL_DEBUG is set.
void Warn(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Warns with this text, and returns `result`.
ncclResult_t Refuse(ncclResult_t result, const char* format, ...)
    __attribute__((format(printf, 2, 3)));
// Refuses a null pointer where NCCL requires another.
ncclResult_t RefuseNull(const char* function);

}  // namespace fake_nccl

#endif  // MUSTER_TESTS_NCCL_FAKE_NCCL_ERROR_H_
