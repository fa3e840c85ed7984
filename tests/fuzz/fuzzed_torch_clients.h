#ifndef MUSTER_TESTS_FUZZ_FUZZED_TORCH_CLIENTS_H_
#define MUSTER_TESTS_FUZZ_FUZZED_TORCH_CLIENTS_H_

#include <cstddef>
#include <cstdint>

namespace muster::fuzz {

// Lets three clients send the input to the launcher's store of PyTorch programs, in pieces that the
// input itself chooses. Aborts with a message if a promise is broken: a request does not depend on
// how its bytes arrive; a session keeps no more than one request's bytes; when all clients are
// gone, no operation is in progress.
void RunFuzzedTorchClients(const uint8_t* data, size_t size);

}  // namespace muster::fuzz

#endif  // MUSTER_TESTS_FUZZ_FUZZED_TORCH_CLIENTS_H_
