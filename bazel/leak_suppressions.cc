// Returns the leaks to ignore. LeakSanitizer finds this function by its name.
extern "C" const char* __lsan_default_suppressions() {
  // c-ares, below gRPC, keeps its global state until the process ends.
  return "leak:libcares.so\n"
         // NCCL 2.30.7, dev_runtime.cc:122: a list of ranks, made by the first collective of each
         // communicator. init.cc:275 frees it only where symmetric memory is supported.
         "leak:ncclDevrInitOnce\n";
}
