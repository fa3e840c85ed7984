#ifndef MUSTER_CLIENT_SRC_NODE_COMMIT_WORD_H_
#define MUSTER_CLIENT_SRC_NODE_COMMIT_WORD_H_

#include <cstdint>

namespace muster::internal {

// The last collective of a group that a sender has committed on the node, in one 64-bit word
// (docs/node-fan-in.md, R16 and R17).
//
// A sender commits by one compare-and-swap, from the word that it read before it took any slot. So
// it fails if the word has changed since then. A member that revokes its arrival changes the word
// for that reason. `changes` wraps around after 8 million changes; a sender would have to sleep
// through exactly that many.
struct CommitWord {
  static constexpr uint32_t kChanges = 1u << 23;

  bool has_commit = false;  // false before the first commit
  uint32_t by = 0;          // the member that has committed, as an index among the node's members
  uint32_t changes = 0;     // how often the word has changed
  uint32_t number = 0;      // the low bits of the collective's number

  static constexpr CommitWord Of(uint64_t bits) {
    return {(bits & 1) != 0, static_cast<uint32_t>(bits >> 1 & 0xff),
            static_cast<uint32_t>(bits >> 9 & (kChanges - 1)), static_cast<uint32_t>(bits >> 32)};
  }
  constexpr uint64_t bits() const {
    return uint64_t{has_commit} | uint64_t{by} << 1 | uint64_t{changes} << 9 |
           uint64_t{number} << 32;
  }

  constexpr bool IsCommitOf(uint64_t sequence) const {
    return has_commit && number == static_cast<uint32_t>(sequence);
  }
  constexpr CommitWord Changed() const {
    return {has_commit, by, (changes + 1) % kChanges, number};
  }
  constexpr CommitWord CommittedBy(uint32_t member, uint64_t sequence) const {
    return {true, member, (changes + 1) % kChanges, static_cast<uint32_t>(sequence)};
  }
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_COMMIT_WORD_H_
