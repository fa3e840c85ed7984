#include "server/journal/records/kept_request.h"

#include <cstring>

#include "absl/strings/numbers.h"
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

namespace {

// A number may be added to, so the replay must have it. An empty value stays what it is.
bool IsNumber(const std::string& value) {
  int64_t number = 0;
  return absl::SimpleAtoi(value, &number);
}

void VisitValue(std::string* value, PayloadVisitor visit) {
  if (!IsNumber(*value)) visit(value);
}

void ForEachPayload(v1::StoreOperation* operation, PayloadVisitor visit) {
  switch (operation->operation_case()) {
    case v1::StoreOperation::kSet:
      return VisitValue(operation->mutable_set()->mutable_value(), visit);
    case v1::StoreOperation::kCompareAndSet: {
      v1::StoreCompareAndSet* const change = operation->mutable_compare_and_set();
      if (change->has_expected()) VisitValue(change->mutable_expected(), visit);
      return VisitValue(change->mutable_value(), visit);
    }
    case v1::StoreOperation::kAppend:
      return VisitValue(operation->mutable_append()->mutable_value(), visit);
    case v1::StoreOperation::kPush:
      return VisitValue(operation->mutable_push()->mutable_value(), visit);
    default:
      return;
  }
}

void ForEachPayload(v1::StoreEntry* entry, PayloadVisitor visit) {
  if (entry->has_value()) VisitValue(entry->mutable_value(), visit);
  if (entry->has_queue()) {
    for (std::string& element : *entry->mutable_queue()->mutable_elements()) {
      VisitValue(&element, visit);
    }
  }
  for (v1::StoreResult& result : *entry->mutable_results()) {
    if (result.has_value()) VisitValue(result.mutable_value(), visit);
  }
}

}  // namespace

void ForEachPayload(v1::StoreRequest* request, PayloadVisitor visit) {
  if (request->has_operation()) ForEachPayload(request->mutable_operation(), visit);
  if (!request->has_entries()) return;
  for (v1::FetchedStoreEntry& fetched : *request->mutable_entries()->mutable_entries()) {
    if (fetched.has_entry()) ForEachPayload(fetched.mutable_entry(), visit);
  }
}

}  // namespace muster::journal
