#ifndef MUSTER_CLIENT_GLOO_WRITTEN_WORDS_H_
#define MUSTER_CLIENT_GLOO_WRITTEN_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "client/gloo/end_channel.h"

namespace muster::internal {

// Last words as one rank writes them for another to read, in a message or in shared memory. Zeros
// are no words.
struct WrittenWords {
  // Cuts a reason that is too long.
  static WrittenWords Of(const PeerEnd& words);

  // Returns nothing if no words, or only a part of them, have arrived.
  std::optional<PeerEnd> Read() const;

  int32_t rank;
  uint16_t failed;
  uint16_t length;
  char text[503];
  uint8_t complete;  // 1; comes last, so what has arrived is whole
};
static_assert(sizeof(WrittenWords) == 512);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_WRITTEN_WORDS_H_
