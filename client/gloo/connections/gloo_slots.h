#ifndef MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_SLOTS_H_
#define MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_SLOTS_H_

#include <cstdint>

// Slot prefixes for messages that are not part of a Gloo collective. Gloo's own prefixes are below
// 0x10 (gloo/types.h).
namespace muster::internal {

constexpr uint8_t kSendRecvSlotPrefix = 0x41;
constexpr uint8_t kReduceScatterSlotPrefix = 0x42;
constexpr uint8_t kEndNoticeSlotPrefix = 0x43;
constexpr uint8_t kSentinelSlotPrefix = 0x44;
constexpr uint8_t kPartialSlotPrefix = 0x45;
constexpr uint8_t kResultSlotPrefix = 0x46;

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_CONNECTIONS_GLOO_SLOTS_H_
