#ifndef MUSTER_CLIENT_SRC_NODE_FAN_IN_SLOTS_H_
#define MUSTER_CLIENT_SRC_NODE_FAN_IN_SLOTS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/src/node/commit_word.h"
#include "client/src/node/contribution.h"
#include "client/src/node/shared_bytes.h"
#include "client/src/node/slot_word.h"

namespace muster::internal {

using SlotFutex = std::atomic<uint32_t>;
static_assert(SlotFutex::is_always_lock_free && sizeof(SlotFutex) == sizeof(uint32_t));

// One member's part of the shared memory of one group.
struct SharedSlot {
  SlotFutex* word;
  SharedBytes content;  // the posted contribution; written by the slot's owner only
  SharedBytes result;   // the result this member published as a sender; written by it only
};

// The shared memory of one group.
struct SharedGroup {
  std::vector<SharedSlot> slots;  // of all members of the node
  // The members wait for this word. It grows after each change that another member may wait for.
  SlotFutex* bell = nullptr;
  // The group's commit word (CommitWord); null if its members complete nothing on the node.
  SharedWord* commits = nullptr;
};

// An arrival that this member has taken in order to send it.
struct TakenPart {
  uint32_t member;  // index among the node's members
  SlotWord word;    // the slot's word while this member holds the part
  Contribution contribution;
};

// The slots of one group on one node, as one member sees them. Each member owns one slot.
//
//   slots.Post(contribution);                     // arrive
//   std::vector<TakenPart> batch = slots.Take(n); // the last member takes the slots of all,
//   ... send the batch to the daemon ...
//   slots.Publish(batch, completed, result);      // and hands the answer to their owners
//   slots.TakeAnswer(word, n, &answer);           // each owner reads the answer
//
// A sender that holds the parts of all ranks of the group may complete the collective itself, in
// place of the daemon:
//
//   if (slots.Commit(batch, result)) ...          // all members have the result
//
// FanInRound decides which of these a member calls, and when. The rules are in docs/node-fan-in.md,
// with the state diagram. Read it before you change this file.
//
// Only the owner posts to a slot (kEmpty to kArrived) and revokes it (any state to kEmpty). Any
// member may take an arrived slot (kArrived to kTaken), and only the member that took it may answer
// or release it. Every member but the owner changes a slot by compare-and-swap from the exact word
// that it has seen. There are no locks. If a member dies at any instruction, the owners of the
// slots that it took revoke them after a while.
//
// Three races decide the memory orders:
//   * Two members post last, at the same time. Each scans the other's slot after its post. Posts
//     and scans are seq_cst, so at least one of them sees both posts and sends the batch.
//   * A slow sender may still copy a slot's old content. Then the owner revokes the slot and posts
//     again. The sender reads the word again after the copy, sees another generation and drops the
//     copy (a seqlock, whose sequence number is the slot's word).
//   * A member revokes while a sender commits. The sender reads the commit word, and then takes the
//     slot. The owner empties the slot, which acquires that take, and then changes the commit word.
//     So the sender's read precedes the change, and its compare-and-swap cannot follow it. If it
//     came first, the owner sees the commit, and by that the whole result.
// A fourth one decides how members wait. A member reads the bell, then its slot, and sleeps until
// the bell differs from what it has read. A sender changes slots, and then rings: it changes the
// bell, and wakes all that sleep. So a member that has read its slot too early does not sleep, or
// is woken. One system call wakes all members. With one for each slot, the kernel would let each
// member that has been woken take the sender's place on the processor, before the next one.
//
// All other changes of a word are acq_rel. A sender that takes a slot sees the content of that
// post. An owner sees the whole result when it sees the answer, and has read it when it gives the
// slot back. Content and results are relaxed words.
//
// `Hooks` has Wait(word, expected, nanos) and Wake(word), a futex, and Step(). In tests, another
// member may run at each Step(). In production, Step() does nothing. Tests:
// tests/client/node/fan_in_slots_test.cc and fan_in_*_test.cc.
template <class Hooks>
class FanInSlots {
 public:
  // `members` lists the members of the node that are in the group, including `self`.
  FanInSlots(SharedGroup group, std::vector<uint32_t> members, uint32_t self)
      : slots_(std::move(group.slots)),
        group_(std::move(members)),
        self_(self),
        bell_(group.bell),
        commits_(group.commits) {}

  uint32_t self() const { return self_; }
  // Returns the number of members of the group on this node.
  size_t members() const { return group_.size(); }
  SlotWord OwnWord() const { return Load(self_, std::memory_order_acquire); }

  // Posts this member's arrival. Its slot must be empty. Returns false, with nothing posted, if the
  // contribution does not fit. A post counts as a send: from now on, another member may send it.
  bool Post(const Contribution& contribution) {
    const std::string bytes = EncodeContribution(contribution);
    SharedBytes& content = slots_[self_].content;
    if (bytes.size() > content.capacity()) return false;
    const SlotWord before = OwnWord();
    // A slow sender may still be copying the old content. Because of this fence, if it reads any of
    // the new content, it also sees that the slot's word has changed, and drops the copy.
    std::atomic_thread_fence(std::memory_order_release);
    Hooks::Step();
    content.Write(bytes, Hooks::Step);
    Hooks::Step();
    slots_[self_].word->exchange(before.Posted(contribution.sequence).bits(),
                                 std::memory_order_seq_cst);
    return true;
  }

  // Marks that this member makes its own call at this number, so that no member waits for it. The
  // slot must be empty.
  void Skip(uint64_t sequence) {
    const SlotWord passed = OwnWord().Posted(sequence).With(SlotState::kEmpty);
    Hooks::Step();
    slots_[self_].word->exchange(passed.bits(), std::memory_order_seq_cst);
    // If the arrived members have waited only for this one, one of them now sends the batch.
    if (!MoreMayArrive(sequence)) Ring();
  }

  // Returns whether a member of the group may still post at this number: its slot does not show the
  // number yet.
  bool MoreMayArrive(uint64_t sequence) const {
    const uint32_t low = SlotWord::Low(sequence);
    for (const uint32_t member : group_) {
      Hooks::Step();
      const SlotWord word = Load(member, std::memory_order_seq_cst);
      if (word.generation == 0 || word.sequence != low) return true;
    }
    return false;
  }

  // Takes this member's own arrival at this number, and the arrivals of other members that may go
  // into one batch with it. Its own part comes first. Returns an empty batch, and takes nothing, if
  // its own arrival cannot be taken. Before the next Take(), the caller must pass the batch to
  // Publish() or Release(), and empty its own slot with Revoke().
  std::vector<TakenPart> Take(uint64_t sequence) {
    std::vector<TakenPart> parts;
    if (commits_ != nullptr) {
      Hooks::Step();
      seen_commit_ = commits_->load(std::memory_order_acquire);
    }
    const std::optional<TakenPart> own = TakeSlot(self_, sequence);
    if (!own) return parts;
    parts.push_back(*own);
    bool released = false;
    for (const uint32_t member : group_) {
      if (member == self_) continue;
      std::optional<TakenPart> part = TakeSlot(member, sequence);
      if (!part) continue;
      if (part->contribution.CanShareBatchWith(own->contribution)) {
        parts.push_back(*std::move(part));
      } else {
        released |= End(*part, SlotState::kReleased);
      }
    }
    if (released) Ring();
    return parts;
  }

  // Publishes the result to the members of the parts whose indices are in `completed`, and releases
  // the other parts. If the result does not fit, releases all. Skips this member's own part.
  void Publish(const std::vector<TakenPart>& parts, const std::vector<uint32_t>& completed,
               const Result& result) {
    const std::string bytes = EncodeResult(result);
    SharedBytes& area = slots_[self_].result;
    std::vector<bool> answered(parts.size());
    if (bytes.size() <= area.capacity()) {
      Hooks::Step();
      area.Write(bytes, Hooks::Step);
      for (const uint32_t index : completed) answered.at(index) = true;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].member == self_) continue;
      End(parts[i], answered[i] ? SlotState::kAnswered : SlotState::kReleased);
    }
    Ring();
  }

  // Completes the collective for all members of the group with this result, and publishes it.
  // `parts` are what Take() returned, and must be the parts of all ranks of the group. Returns
  // false if a member has revoked its part since Take(), or the result does not fit: then no member
  // gets it, and the caller releases the parts.
  bool Commit(const std::vector<TakenPart>& parts, const Result& result) {
    const std::string bytes = EncodeResult(result);
    SharedBytes& area = slots_[self_].result;
    if (commits_ == nullptr || bytes.size() > area.capacity()) return false;
    Hooks::Step();
    area.Write(bytes, Hooks::Step);
    uint64_t seen = seen_commit_;
    const CommitWord committed = CommitWord::Of(seen).CommittedBy(self_, result.sequence);
    Hooks::Step();
    if (!commits_->compare_exchange_strong(seen, committed.bits(), std::memory_order_acq_rel)) {
      return false;
    }
    for (const TakenPart& part : parts) {
      if (part.member != self_) End(part, SlotState::kAnswered);
    }
    Ring();
    return true;
  }

  // Returns the result if a sender has committed this member's arrival at this number, or nullopt
  // after making sure that no sender can do so any more. Call it after Revoke(), and before the
  // member does anything else about the number. Nullopt too if the area holds no valid result.
  std::optional<Result> TakeCommitted(uint64_t sequence) {
    if (commits_ == nullptr) return std::nullopt;
    Hooks::Step();
    uint64_t bits = commits_->load(std::memory_order_acquire);
    do {
      const CommitWord word = CommitWord::Of(bits);
      if (word.IsCommitOf(sequence)) return ReadResult(word.by, sequence);
      Hooks::Step();
    } while (!commits_->compare_exchange_weak(bits, CommitWord::Of(bits).Changed().bits(),
                                              std::memory_order_acq_rel));
    return std::nullopt;
  }

  // Releases the parts, so that their owners make their own calls. Skips this member's own part.
  void Release(const std::vector<TakenPart>& parts) {
    for (const TakenPart& part : parts) {
      if (part.member != self_) End(part, SlotState::kReleased);
    }
    Ring();
  }

  // Reads the result that a sender published for this member, and empties the slot. `answered` is
  // this slot's word, in state kAnswered. Returns false if another thread has revoked the slot.
  // Leaves `*result` at nullopt if there is no valid result for this number.
  bool TakeAnswer(SlotWord answered, uint64_t sequence, std::optional<Result>* result) {
    *result = ReadResult(answered.by, sequence);
    return Change(self_, answered, answered.With(SlotState::kEmpty));
  }

  // Revokes this member's arrival. Returns the old word: if its state was kTaken, the arrival may
  // have been sent, or may still be sent. For the thread of the round.
  SlotWord Revoke() {
    Hooks::Step();
    return SlotWord::Of(
        slots_[self_].word->fetch_and(SlotWord::kEmptied, std::memory_order_acq_rel));
  }

  // Revokes this member's arrival, and wakes the thread of the round if it waits. For the owner's
  // other threads.
  void Interrupt() {
    Revoke();
    Ring();
  }

  // Returns what Wait() takes. Read it before what the wait is for.
  uint32_t Bell() const {
    const uint32_t bell = bell_->load(std::memory_order_acquire);
    Hooks::Step();
    return bell;
  }
  // Blocks until a member has rung since `bell` was read, for at most `nanos`. May return early.
  void Wait(uint32_t bell, int64_t nanos) const {
    Hooks::Step();
    Hooks::Wait(bell_, bell, nanos);
  }
  // Ends the waits of all members of the group.
  void Ring() {
    Hooks::Step();
    bell_->fetch_add(1, std::memory_order_acq_rel);
    Hooks::Step();
    Hooks::Wake(bell_);
  }

 private:
  SlotWord Load(uint32_t member, std::memory_order order) const {
    return SlotWord::Of(slots_[member].word->load(order));
  }

  // Returns what that member has published for this number, or nullopt if its area holds no valid
  // result for it.
  std::optional<Result> ReadResult(uint32_t by, uint64_t sequence) const {
    if (by >= slots_.size()) return std::nullopt;
    Hooks::Step();
    const std::optional<std::string> bytes = slots_[by].result.Read(Hooks::Step);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!bytes) return std::nullopt;
    std::optional<Result> result = DecodeResult(*bytes);
    if (!result || result->sequence != sequence) return std::nullopt;
    return result;
  }

  bool Change(uint32_t member, SlotWord from, SlotWord to) const {
    uint32_t expected = from.bits();
    Hooks::Step();
    return slots_[member].word->compare_exchange_strong(expected, to.bits(),
                                                        std::memory_order_acq_rel);
  }

  // Takes one arrival. Returns nullopt if the slot has no arrival at this number, or has been
  // revoked.
  std::optional<TakenPart> TakeSlot(uint32_t member, uint64_t sequence) {
    Hooks::Step();
    const SlotWord word = Load(member, std::memory_order_acquire);
    if (word.state != SlotState::kArrived || word.sequence != SlotWord::Low(sequence)) {
      return std::nullopt;
    }
    const SlotWord taken = word.TakenBy(self_);
    if (!Change(member, word, taken)) return std::nullopt;
    std::optional<Contribution> contribution = Copy(member, taken);
    if (!contribution) {
      if (Change(member, taken, taken.With(SlotState::kReleased))) Ring();
      return std::nullopt;
    }
    return TakenPart{member, taken, *std::move(contribution)};
  }

  // Copies the content of a taken slot. Returns nullopt if its owner has revoked it meanwhile, or
  // the content is malformed.
  std::optional<Contribution> Copy(uint32_t member, SlotWord taken) const {
    Hooks::Step();
    const std::optional<std::string> bytes = slots_[member].content.Read(Hooks::Step);
    std::atomic_thread_fence(std::memory_order_acquire);
    Hooks::Step();
    if (Load(member, std::memory_order_relaxed).bits() != taken.bits() || !bytes) {
      return std::nullopt;
    }
    return DecodeContribution(*bytes);
  }

  // Ends the part. Its owner does not notice before Ring(). Returns false, with nothing changed, if
  // the owner has revoked it.
  bool End(const TakenPart& part, SlotState how) const {
    return Change(part.member, part.word, part.word.With(how));
  }

  std::vector<SharedSlot> slots_;
  const std::vector<uint32_t> group_;
  const uint32_t self_;
  SlotFutex* const bell_;
  SharedWord* const commits_;
  uint64_t seen_commit_ = 0;  // the commit word before the last Take()
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_FAN_IN_SLOTS_H_
