#ifndef MUSTER_CLIENT_SRC_BASE_DIGEST_H_
#define MUSTER_CLIENT_SRC_BASE_DIGEST_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster::internal {

// FNV-1a: the same on every rank. For short texts; no protection against anybody.
inline uint64_t Digest(absl::string_view bytes) {
  uint64_t digest = 14695981039346656037u;
  for (const char byte : bytes) {
    digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  return digest;
}

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_BASE_DIGEST_H_
