#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_EPOCH_ID_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_EPOCH_ID_H_

#include <cstdint>
#include <tuple>

namespace muster::internal {

// The identity of one formed membership. In a job, the epoch with the higher number is the later
// one.
struct EpochId {
  uint64_t number = 0;
  uint64_t nonce = 0;
  friend bool operator==(const EpochId& a, const EpochId& b) {
    return a.number == b.number && a.nonce == b.nonce;
  }
  friend bool operator<(const EpochId& a, const EpochId& b) {
    return std::tie(a.number, a.nonce) < std::tie(b.number, b.nonce);
  }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_EPOCH_ID_H_
