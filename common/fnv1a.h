#ifndef MUSTER_COMMON_FNV1A_H_
#define MUSTER_COMMON_FNV1A_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

// FNV-1a hashes short texts to numbers that are the same in all processes, on all machines and in
// every version: they name what processes share, and travel between ranks. It is no protection
// against anybody who chooses the text. Needs the C++ library alone.
namespace muster {

inline uint64_t Fnv1a64(const void* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}
inline uint64_t Fnv1a64(std::string_view text) { return Fnv1a64(text.data(), text.size()); }

inline uint32_t Fnv1a32(const void* data, size_t size) {
  uint32_t hash = 0x811c9dc5;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x01000193;
  return hash;
}
inline uint32_t Fnv1a32(std::string_view text) { return Fnv1a32(text.data(), text.size()); }

}  // namespace muster

#endif  // MUSTER_COMMON_FNV1A_H_
