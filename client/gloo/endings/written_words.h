#ifndef MUSTER_CLIENT_GLOO_ENDINGS_WRITTEN_WORDS_H_
#define MUSTER_CLIENT_GLOO_ENDINGS_WRITTEN_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "client/gloo/endings/end_channel.h"

namespace muster::internal {

// Last words in a fixed layout, for a message or for shared memory. All zeros mean no words.
struct WrittenWords {
  // Returns `words` in this layout. Truncates a reason that is too long.
  static WrittenWords Of(const PeerEnd& words);

  // Returns nullopt if the words have not arrived completely.
  std::optional<PeerEnd> Read() const;

  int32_t rank;
  uint16_t failed;
  uint16_t length;
  char text[503];
  uint8_t complete;  // 1; the last byte, so all before it has arrived
};
static_assert(sizeof(WrittenWords) == 512);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_ENDINGS_WRITTEN_WORDS_H_
