// Faults of NCCL's own library. A program that is linked with this file finds these functions in
// place of NCCL's, which they call.
//
//   MUSTER_TEST_NCCL_FAULTS=split-die    the process is killed when it calls ncclCommSplit
//   MUSTER_TEST_NCCL_FAULTS=abort-hang   the process's first ncclCommAbort never returns

#include <dlfcn.h>
#include <nccl.h>
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
Function* InNccl(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (Has("split-die")) kill(getpid(), SIGKILL);
  return InNccl(&ncclCommSplit, "ncclCommSplit")(comm, color, key, child, config);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  static std::atomic<int> calls{0};
  const bool first = ++calls == 1;
  while (first && Has("abort-hang")) pause();
  return InNccl(&ncclCommAbort, "ncclCommAbort")(comm);
}

}  // extern "C"
