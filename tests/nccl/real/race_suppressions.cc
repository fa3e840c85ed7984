// Suppresses NCCL's own races. README.md says how they were found. ThreadSanitizer finds this
// function by its name.
extern "C" const char* __tsan_default_suppressions() {
  return
      // NCCL 2.30.7, proxy.cc:1048: the thread that ends a proxy sets the flag `stop`, which
      // proxy.cc:1009 reads without the lock. It is volatile, not atomic.
      "race:^ncclProxyProgressDestroy\n"
      // NCCL 2.30.7, include/param.h:30: the first to ask for a parameter stores its value
      // atomically, and another thread returns it by a plain read.
      "race:^ncclParam\n";
}
