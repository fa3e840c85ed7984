#ifndef MUSTER_COMMON_CREDENTIALS_RANDOM_BYTES_H_
#define MUSTER_COMMON_CREDENTIALS_RANDOM_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster {

// Return unpredictable bytes from the kernel. Block only early in the boot of a machine, until the
// kernel has enough entropy.
std::string RandomBytes(size_t count);
uint64_t RandomNumber();

}  // namespace muster

#endif  // MUSTER_COMMON_CREDENTIALS_RANDOM_BYTES_H_
