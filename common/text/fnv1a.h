#ifndef MUSTER_COMMON_TEXT_FNV1A_H_
#define MUSTER_COMMON_TEXT_FNV1A_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

// FNV-1a, a hash of short texts that is the same in all processes, on all machines and in every
// version. Used for names that processes share, and for values that travel between ranks. Gives no
// protection against an attacker who chooses the text. Needs only the C++ library.
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

#endif  // MUSTER_COMMON_TEXT_FNV1A_H_
