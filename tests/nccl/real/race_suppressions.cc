// Suppresses NCCL's own races. README.md says how they were found. ThreadSanitizer finds this
// function by its name.
extern "C" const char* __tsan_default_suppressions() {
  // NCCL 2.30.7, proxy.cc:1048: the thread that ends a proxy sets the flag `stop`, which
  // proxy.cc:1009 reads without the lock. It is volatile, not atomic.
  return "race:^ncclProxyProgressDestroy\n";
}
