// Found by LeakSanitizer by its name.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libcares.so\n";  // c-ares, below gRPC, keeps its global state until the process ends
}
