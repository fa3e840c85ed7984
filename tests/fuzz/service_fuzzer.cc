// The libFuzzer target for the service: bazel test --config=fuzz //tests/fuzz:service_fuzzer.

#include <cstdint>

#include "tests/fuzz/fuzzed_service.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::fuzz::RunFuzzedSchedule(data, size);
  return 0;
}
