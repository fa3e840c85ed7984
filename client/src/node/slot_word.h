#ifndef MUSTER_CLIENT_SRC_NODE_SLOT_WORD_H_
#define MUSTER_CLIENT_SRC_NODE_SLOT_WORD_H_

#include <cstdint>

namespace muster::internal {

// The state of one member's arrival at a collective of one group.
enum class SlotState : uint32_t {
  kEmpty = 0,     // no arrival, or its owner has revoked it
  kArrived = 1,   // the content is posted, and any member may take it
  kTaken = 2,     // a member is sending it, or is about to
  kAnswered = 3,  // the sender has published the result
  kReleased = 4,  // the sender gave it up; the owner makes its own call
};

// A slot's state in one 32-bit word, so that it changes atomically and a futex can wait for it.
//
// `generation` counts the owner's posts, and is 0 before the first. `by` is the member that has
// taken the slot, as an index among the node's members. `sequence` has the low bits of the
// collective's number, and stays when the slot is emptied. Generations and numbers wrap around, so
// two distant posts may have equal words. Readers therefore compare the whole number, which is in
// the content.
struct SlotWord {
  static constexpr uint32_t kMaxMembers = 256;
  static constexpr uint32_t kGenerations = 512;
  static constexpr uint32_t kSequences = 4096;

  SlotState state = SlotState::kEmpty;
  uint32_t by = 0;
  uint32_t generation = 0;
  uint32_t sequence = 0;

  static constexpr SlotWord Of(uint32_t bits) {
    return {static_cast<SlotState>(bits & 7), bits >> 3 & (kMaxMembers - 1),
            bits >> 11 & (kGenerations - 1), bits >> 20};
  }
  constexpr uint32_t bits() const {
    return static_cast<uint32_t>(state) | by << 3 | generation << 11 | sequence << 20;
  }

  // The bits that stay when the slot is emptied: all but `state` and `by`.
  static constexpr uint32_t kEmptied = ~((1u << 11) - 1);

  constexpr SlotWord With(SlotState next) const { return {next, by, generation, sequence}; }
  constexpr SlotWord TakenBy(uint32_t member) const {
    return {SlotState::kTaken, member, generation, sequence};
  }
  // Returns the word of the owner's next post.
  constexpr SlotWord Posted(uint64_t number) const {
    const uint32_t next = generation + 1 == kGenerations ? 1 : generation + 1;
    return {SlotState::kArrived, 0, next, Low(number)};
  }
  static constexpr uint32_t Low(uint64_t number) {
    return static_cast<uint32_t>(number % kSequences);
  }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SLOT_WORD_H_
