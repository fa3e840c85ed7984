#include "client/src/protocol/lease_ledger.h"

#include <algorithm>

namespace muster::internal {

void LeaseLedger::Granted(uint64_t request, uint64_t token) {
  Saw(token);
  request_of_[token] = request;
}

std::optional<uint64_t> LeaseLedger::End(uint64_t token) {
  const auto held = request_of_.find(token);
  if (held == request_of_.end()) return std::nullopt;
  const uint64_t request = held->second;
  request_of_.erase(held);
  return request;
}

void LeaseLedger::Saw(uint64_t token) { highest_token_ = std::max(highest_token_, token); }

}  // namespace muster::internal
