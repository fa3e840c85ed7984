#ifndef MUSTER_CLIENT_GLOO_ENDINGS_ENCODED_END_NOTICE_H_
#define MUSTER_CLIENT_GLOO_ENDINGS_ENCODED_END_NOTICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "client/gloo/endings/end_notice_channel.h"

namespace muster::internal {

// An end notice in a fixed layout, for a message or for shared memory. All zeros mean no notice.
struct EncodedEndNotice {
  // Returns `notice` in this layout. Truncates a reason that is too long.
  static EncodedEndNotice From(const EndNotice& notice);

  // Returns nullopt if the notice has not arrived completely.
  std::optional<EndNotice> Decode() const;

  int32_t rank;
  uint16_t failed;
  uint16_t length;
  char text[503];
  uint8_t complete;  // 1; the last byte, so all before it has arrived
};
static_assert(sizeof(EncodedEndNotice) == 512);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_ENDINGS_ENCODED_END_NOTICE_H_
