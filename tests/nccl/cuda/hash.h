#ifndef MUSTER_TESTS_NCCL_CUDA_HASH_H_
#define MUSTER_TESTS_NCCL_CUDA_HASH_H_

#include <cstddef>
#include <cstdint>

namespace fake {

// FNV-1a: the same in all processes.
inline uint64_t Hash(const void* data, size_t size) {
  uint64_t hash = 14695981039346656037u;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

}  // namespace fake

#endif  // MUSTER_TESTS_NCCL_CUDA_HASH_H_
