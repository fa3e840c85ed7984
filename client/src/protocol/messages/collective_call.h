#ifndef MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_COLLECTIVE_CALL_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_COLLECTIVE_CALL_H_

#include <cstdint>
#include <optional>
#include <string>

namespace muster::internal {

enum class CollectiveKind { kBarrier, kBroadcast, kGather, kAllGather };

// One collective, as its caller describes it. The first send fixes the content that travels.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBarrier;
  int root = 0;  // index into the group; 0 for kinds without a root
  std::string label;
  std::string type_name;
  std::string payload;  // empty if the caller contributes nothing
  // Set if all ranks must pass payloads of the same size.
  std::optional<uint64_t> payload_size;
  std::string call_site;  // "train.cc:42", for messages
  // A digest of how the caller uses the answer, beyond kind, root, label and type. A retry must
  // have the same digest, because it gets the answer to the first send's payload. 0 if there is
  // nothing to compare. Does not travel.
  uint64_t arguments = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_MESSAGES_COLLECTIVE_CALL_H_
