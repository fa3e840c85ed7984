// The libFuzzer target for MPI's side of the launcher: bazel test --config=fuzz
// //tests/fuzz/mpi:mpi_fuzzer. fuzzed_mpi.h says what it does.

#include <cstdint>

#include "tests/fuzz/mpi/fuzzed_mpi.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  muster::fuzz::RunFuzzedMpi(data, size);
  return 0;
}
