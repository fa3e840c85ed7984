#include "common/names/group_digest.h"

// Keeps the deprecated functions, because OpenSSL 3's replacements first load its configuration and
// providers.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace muster {
namespace {

void AppendLittleEndian(uint64_t number, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

}  // namespace

std::string GroupDigest(absl::string_view name, absl::Span<const uint32_t> ranks) {
  std::string text;
  text.reserve(sizeof(uint64_t) + name.size() + ranks.size() * sizeof(uint32_t));
  AppendLittleEndian(name.size(), sizeof(uint64_t), &text);
  text.append(name.data(), name.size());
  for (const uint32_t rank : ranks) AppendLittleEndian(rank, sizeof(rank), &text);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_CTX hash;
  SHA256_Init(&hash);
  SHA256_Update(&hash, text.data(), text.size());
  SHA256_Final(digest, &hash);
  return std::string(reinterpret_cast<const char*>(digest), kGroupDigestBytes);
}

}  // namespace muster
