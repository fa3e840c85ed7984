#ifndef MUSTER_COMMON_RANDOM_BYTES_H_
#define MUSTER_COMMON_RANDOM_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace muster {

// Bytes that nobody can guess, from the kernel. Blocks only while a machine that is being started
// has none yet.
std::string RandomBytes(size_t count);
uint64_t RandomNumber();

}  // namespace muster

#endif  // MUSTER_COMMON_RANDOM_BYTES_H_
