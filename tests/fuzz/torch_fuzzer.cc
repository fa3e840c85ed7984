// The libFuzzer target for the store of PyTorch programs: bazel test --config=fuzz
// //tests/fuzz:torch_fuzzer. torch_fuzz_test.cc says what an input is.

#include <cstdint>

#include "tests/fuzz/fuzzed_torch_clients.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::fuzz::RunFuzzedTorchClients(data, size);
  return 0;
}
