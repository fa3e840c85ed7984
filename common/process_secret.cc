#include "common/process_secret.h"

#include <openssl/sha.h>

namespace muster {

std::string IncarnationOf(absl::string_view secret) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), kIncarnationBytes);
}

}  // namespace muster
