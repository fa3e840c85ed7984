#include "common/credentials/process_secret.h"

// Keeps the deprecated functions, because OpenSSL 3's replacements first load its configuration and
// providers. That takes 0.9 ms, a sixth of the time that a process needs to join.
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
