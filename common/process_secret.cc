#include "common/process_secret.h"

// OpenSSL 3 deprecates these functions for ones that first load its configuration and providers:
// 0.9 ms of a process that may want nothing else of OpenSSL, a sixth of what it takes to join.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace muster {

std::string IncarnationOf(absl::string_view secret) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_CTX hash;
  SHA256_Init(&hash);
  SHA256_Update(&hash, secret.data(), secret.size());
  SHA256_Final(digest, &hash);
  return std::string(reinterpret_cast<const char*>(digest), kIncarnationBytes);
}

}  // namespace muster
