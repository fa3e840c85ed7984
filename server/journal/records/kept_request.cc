#include "server/journal/records/kept_request.h"

#include <cstring>

#include "common/credentials/random_bytes.h"

// OpenSSL 3 deprecates these functions. The functions that it recommends first load its
// configuration and providers.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace muster::journal {
PayloadHasher::PayloadHasher() : key_(RandomBytes(SHA256_CBLOCK)) {}

uint64_t PayloadHasher::Hash(absl::string_view payload) const {
  if (payload.empty()) return 0;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_CTX hash;
  SHA256_Init(&hash);
  SHA256_Update(&hash, key_.data(), key_.size());
  SHA256_Update(&hash, payload.data(), payload.size());
  SHA256_Final(digest, &hash);
  uint64_t fingerprint = 0;
  std::memcpy(&fingerprint, digest, sizeof(fingerprint));
  return fingerprint;
}

void ForEachPayload(v1::LeaseResult* result, PayloadVisitor visit) {
  if (result->has_value()) visit(result->mutable_value());
}

void ForEachPayload(v1::Claim* claim, PayloadVisitor visit) {
  for (v1::CompletedLease& done : *claim->mutable_completed_leases()) {
    if (done.has_result()) ForEachPayload(done.mutable_result(), visit);
  }
}

}  // namespace muster::journal
