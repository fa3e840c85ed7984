#include "server/journal/records/digest.h"

#include <zlib.h>

#include "absl/strings/string_view.h"

namespace muster::journal {
namespace {

// A multiplicative hash of 64-bit words. It is fast: a step may end thousands of calls, with few
// bits for each.
class Mixer {
 public:
  void Add(uint64_t value) {
    state_ = (state_ ^ value) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 32;
    empty_ = false;
  }
  void Add(absl::string_view text) {
    Add(crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
  }
  uint32_t Result() const {
    const auto result = static_cast<uint32_t>(state_);
    return empty_ || result != 0 ? result : 1;
  }

 private:
  uint64_t state_ = 0;
  bool empty_ = true;
};

void AddEnd(uint64_t waiter, const absl::Status& status, Mixer* answers, Mixer* texts) {
  answers->Add(waiter << 5 | static_cast<uint64_t>(status.code()));
  if (!status.ok()) texts->Add(status.message());
}

}  // namespace

Digest DigestOf(const core::Effects& effects) {
  Mixer answers;
  Mixer texts;
  for (const core::Reply& reply : effects.replies) {
    AddEnd(reply.waiter, reply.status, &answers, &texts);
  }
  for (const core::StreamEvent& event : effects.events) {
    texts.Add(event.stream << 4 | event.event->index() << 1 | uint64_t{event.urgent});
  }
  for (const core::StoreMessage& message : effects.store) {
    texts.Add(message.stream << 4 | message.message.index());
  }
  for (const core::StreamEnd& end : effects.ends) {
    AddEnd(end.stream, end.status, &answers, &texts);
  }
  for (const core::LogLine& line : effects.log) texts.Add(line.text);
  return {answers.Result(), texts.Result()};
}

}  // namespace muster::journal
