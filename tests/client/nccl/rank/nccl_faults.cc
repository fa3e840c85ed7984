// Faults of NCCL's own library. A program that links this file finds these functions instead of
// NCCL's, which they call.
//
//   MUSTER_TEST_NCCL_FAULTS=split-die    the process is killed when it calls ncclCommSplit
//   MUSTER_TEST_NCCL_FAULTS=abort-hang   the process's first ncclCommAbort never returns
//   MUSTER_TEST_NCCL_FAULTS=op-die@N     the process is killed in its N-th all-reduce
//   MUSTER_TEST_NCCL_FAULTS=slow-proxy   NCCL's threads see each wake-up 100 ms late
//   MUSTER_TEST_NCCL_FAULTS=revoke-fails NCCL's first wait for the GPU after the process's second
//                                        all-reduce fails, and with it a revocation

#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace {

bool Has(const std::string& fault) {
  const char* const faults = std::getenv("MUSTER_TEST_NCCL_FAULTS");
  return faults != nullptr && fault == faults;
}

template <typename Function>
Function* Next(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool IsInNccl(const void* code) {
  Dl_info library = {};
  return dladdr(code, &library) != 0 && library.dli_fname != nullptr &&
         std::string(library.dli_fname).find("libnccl.so") != std::string::npos;
}

std::atomic<int> all_reduces{0};

}  // namespace

extern "C" {

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (Has("split-die")) kill(getpid(), SIGKILL);
  return Next(&ncclCommSplit, "ncclCommSplit")(comm, color, key, child, config);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  static std::atomic<int> calls{0};
  const bool first = ++calls == 1;
  while (first && Has("abort-hang")) pause();
  return Next(&ncclCommAbort, "ncclCommAbort")(comm);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  const int calls = ++all_reduces;
  if (Has("op-die@" + std::to_string(calls))) kill(getpid(), SIGKILL);
  return Next(&ncclAllReduce, "ncclAllReduce")(from, to, count, type, op, comm, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  static std::atomic<bool> failed{false};
  const bool fails = Has("revoke-fails") && all_reduces >= 2;
  if (fails && IsInNccl(__builtin_return_address(0)) && !failed.exchange(true)) {
    return cudaErrorUnknown;
  }
  return Next(&cudaStreamSynchronize, "cudaStreamSynchronize")(stream);
}

#ifndef __SANITIZE_THREAD__  // which has a pthread_cond_wait of its own
int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*);
  // Looks it up by version, since an older version of the function has another pthread_cond_t.
  static const auto wait =
      reinterpret_cast<Wait>(dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2"));
  const int result = wait(condition, mutex);
  if (Has("slow-proxy") && IsInNccl(__builtin_return_address(0))) {
    pthread_mutex_unlock(mutex);
    usleep(100'000);
    pthread_mutex_lock(mutex);
  }
  return result;
}
#endif

}  // extern "C"
