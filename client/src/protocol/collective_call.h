#ifndef MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALL_H_
#define MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALL_H_

#include <cstdint>
#include <optional>
#include <string>

namespace muster::internal {

enum class CollectiveKind { kBarrier, kBroadcast, kGather, kAllGather };

// One collective as its caller describes it. What travels is fixed by the first send.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::kBarrier;
  int root = 0;  // index into the group; 0 where the kind has none
  std::string label;
  std::string type_name;
  std::string payload;  // empty where the caller contributes nothing
  // Where it must be the same on all ranks.
  std::optional<uint64_t> payload_size;
  std::string call_site;  // "train.cc:42", for messages
  // Stands for what the caller does with the answer, where that depends on more than kind, root,
  // label and type: a repetition, for which the first one's payload counts, must have the same. 0:
  // nothing. Does not travel.
  uint64_t arguments = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_PROTOCOL_COLLECTIVE_CALL_H_
