#include "server/journal/kept_request.h"

#include <cstring>

#include "common/random_bytes.h"

// OpenSSL 3 deprecates these functions for ones that first load its configuration and providers.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

namespace muster::journal {
namespace {

void VisitPayloads(v1::Claim* claim, PayloadVisitor visit) {
  for (v1::CompletedLease& done : *claim->mutable_completed_leases()) {
    if (done.result().has_value()) visit(done.mutable_result()->mutable_value());
  }
}

}  // namespace

Fingerprints::Fingerprints() : key_(RandomBytes(SHA256_CBLOCK)) {}

uint64_t Fingerprints::Of(absl::string_view payload) const {
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

void ForEachPayload(v1::AttachRequest* request, PayloadVisitor visit) {
  if (request->has_claim()) VisitPayloads(request->mutable_claim(), visit);
}

void ForEachPayload(v1::RejoinRequest* request, PayloadVisitor visit) {
  if (request->has_claim()) VisitPayloads(request->mutable_claim(), visit);
}

void ForEachPayload(v1::BroadcastRequest* request, PayloadVisitor visit) {
  visit(request->mutable_payload());
}

void ForEachPayload(v1::GatherRequest* request, PayloadVisitor visit) {
  visit(request->mutable_payload());
}

void ForEachPayload(v1::AllGatherRequest* request, PayloadVisitor visit) {
  visit(request->mutable_payload());
}

void ForEachPayload(v1::NodeCollectiveRequest* request, PayloadVisitor visit) {
  for (v1::NodeArrival& part : *request->mutable_parts()) visit(part.mutable_payload());
}

void ForEachPayload(v1::CompleteLeaseRequest* request, PayloadVisitor visit) {
  if (request->has_result() && request->result().has_value()) {
    visit(request->mutable_result()->mutable_value());
  }
}

}  // namespace muster::journal
