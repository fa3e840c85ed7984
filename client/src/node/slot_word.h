#ifndef MUSTER_CLIENT_SRC_NODE_SLOT_WORD_H_
#define MUSTER_CLIENT_SRC_NODE_SLOT_WORD_H_

#include <cstdint>

namespace muster::internal {

// Where one member's arrival at a collective of one group stands.
enum class SlotState : uint32_t {
  kEmpty = 0,     // there is none; or its owner has taken it back
  kArrived = 1,   // its content is there for whoever sends
  kTaken = 2,     // somebody sends it, or is about to
  kAnswered = 3,  // the sender has published the result for it
  kReleased = 4,  // nobody sends it any more: the owner calls by itself
};

// A slot's state in one word, so that it changes as a whole, and so that a futex can wait for it.
//
// `generation` counts the owner's posts; 0: none yet. `by` is whoever has taken it: an index among
// the node's members. `sequence` has the low bits of the collective's number, which stay when the
// slot is emptied. Two posts that are far apart may have the same word; the whole number stands in
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

  // What stays of the bits when the slot is emptied: neither state nor `by`.
  static constexpr uint32_t kEmptied = ~((1u << 11) - 1);

  constexpr SlotWord With(SlotState next) const { return {next, by, generation, sequence}; }
  constexpr SlotWord TakenBy(uint32_t member) const {
    return {SlotState::kTaken, member, generation, sequence};
  }
  // The owner's next post.
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
