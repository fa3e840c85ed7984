#ifndef MUSTER_SERVER_JOURNAL_RECORDS_KEPT_REQUEST_H_
#define MUSTER_SERVER_JOURNAL_RECORDS_KEPT_REQUEST_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "common/credentials/process_secret.h"
#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"
#include "server/journal/journal.pb.h"

namespace muster::journal {

// The size and fingerprint of a payload, which the journal keeps instead of the payload.
struct PayloadSummary {
  uint64_t size = 0;
  uint64_t fingerprint = 0;
};

// The part of a request that the journal keeps: all but the payloads and the secrets of processes.
struct KeptRequest {
  InputKind kind = INPUT_KIND_UNSPECIFIED;
  std::string bytes;
  std::vector<PayloadSummary> payloads;  // in ForEachPayload's order; none: all are empty
  std::string incarnation;               // of the secret's process; empty: no secret
};

// A keyed hash of payloads: equal payloads have equal fingerprints, different payloads different
// ones. Only the object knows the key, so a reader of the journal cannot guess a payload and verify
// the guess.
class PayloadHasher {
 public:
  PayloadHasher();
  // Returns the fingerprint, or 0 if the payload is empty.
  uint64_t Hash(absl::string_view payload) const;

 private:
  const std::string key_;
};

// The kind of the step for a type of request.
template <typename Request>
inline constexpr InputKind kKindOf = INPUT_KIND_UNSPECIFIED;
#define MUSTER_KIND(name, caller, request, kind, payloads) \
  template <>                                              \
  inline constexpr InputKind kKindOf<v1::name##Request> = INPUT_KIND_##kind;
MUSTER_RPCS(MUSTER_KIND, MUSTER_KIND)
#undef MUSTER_KIND
template <>
inline constexpr InputKind kKindOf<v1::StoreRequest> = INPUT_KIND_STORE;

// Calls `visit` for each field that holds a payload. The order depends on the message alone.
using PayloadVisitor = absl::FunctionRef<void(std::string*)>;
void ForEachPayload(v1::LeaseResult* result, PayloadVisitor visit);
void ForEachPayload(v1::Claim* claim, PayloadVisitor visit);
// Numbers are no payloads: a replay needs them to add to.
void ForEachPayload(v1::StoreRequest* request, PayloadVisitor visit);
template <typename Request>
void ForEachPayload(Request* request, PayloadVisitor visit) {
  constexpr RpcPayloads kWhere = Rpc<Request>::kPayloads;
  if constexpr (kWhere == RpcPayloads::kPayload) {
    visit(request->mutable_payload());
  } else if constexpr (kWhere == RpcPayloads::kInParts) {
    for (auto& part : *request->mutable_parts()) visit(part.mutable_payload());
  } else if constexpr (kWhere == RpcPayloads::kResult) {
    if (request->has_result()) ForEachPayload(request->mutable_result(), visit);
  } else if constexpr (kWhere == RpcPayloads::kInClaim) {
    if (request->has_claim()) ForEachPayload(request->mutable_claim(), visit);
  } else {
    static_assert(kWhere == RpcPayloads::kNone);
  }
}

// Returns the field with the process's secret, or null if the request has none.
template <typename Request>
auto SecretOf(Request* request) -> decltype(request->mutable_secret()) {
  return request->mutable_secret();
}
inline std::string* SecretOf(void*) { return nullptr; }
inline std::string* SecretOf(v1::StoreRequest* request) {
  return request->has_open() ? request->mutable_open()->mutable_secret() : nullptr;
}

// Returns the part of a request that the journal keeps. `raw` is the encoding that the request was
// parsed from. It is used as it is if nothing must be left out; otherwise, or if it is empty, the
// request is encoded again. The request is unchanged when this returns.
template <typename Request>
KeptRequest Keep(Request* request, std::string raw, const PayloadHasher& hasher) {
  KeptRequest kept;
  kept.kind = kKindOf<Request>;
  std::vector<std::string> taken;
  bool all_kept = true;
  const auto take = [&](std::string* field) {
    all_kept &= field->empty();
    taken.emplace_back().swap(*field);
  };
  ForEachPayload(request, [&](std::string* payload) {
    kept.payloads.push_back({payload->size(), hasher.Hash(*payload)});
    take(payload);
  });
  if (all_kept) kept.payloads.clear();
  std::string* const secret = SecretOf(request);
  if (secret != nullptr) {
    kept.incarnation = muster::IncarnationOf(*secret);
    take(secret);
  }
  kept.bytes = all_kept && !raw.empty() ? std::move(raw) : request->SerializeAsString();
  auto content = taken.begin();
  ForEachPayload(request, [&](std::string* payload) { payload->swap(*content++); });
  if (secret != nullptr) secret->swap(*content);
  return kept;
}

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RECORDS_KEPT_REQUEST_H_
