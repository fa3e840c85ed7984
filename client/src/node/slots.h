#ifndef MUSTER_CLIENT_SRC_NODE_SLOTS_H_
#define MUSTER_CLIENT_SRC_NODE_SLOTS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/src/node/contribution.h"
#include "client/src/node/shared_bytes.h"
#include "client/src/node/slot_word.h"

namespace muster::internal {

using SlotFutex = std::atomic<uint32_t>;
static_assert(SlotFutex::is_always_lock_free && sizeof(SlotFutex) == sizeof(uint32_t));

// One member's part of the shared memory of one group.
struct SharedSlot {
  SlotFutex* word;
  SharedBytes content;  // what the member brings; only its owner writes
  SharedBytes result;   // what the member has published as a sender; only its owner writes
};

// A member's arrival that this member has taken, to send it.
struct TakenPart {
  uint32_t member;  // index among the node's members
  SlotWord word;    // as it stands in the slot while it is this member's to send
  Contribution contribution;
};

// The slots of one group of a node's members, as one of them sees them. Each member has one: it
// posts what it brings to the group's next collective, and either sends it, with what the others
// have posted, or finds that another one has. There are no locks: a member that is killed or
// stopped at any instruction leaves a slot behind that its owner takes back after a while.
//
// Who may change a slot's word: its owner posts (from empty to arrived) and takes back (to empty,
// from whatever it is); anybody takes (arrived to taken); who has taken it answers or releases it.
// Everybody but the owner changes the exact word that it has seen.
//
// `Hooks` are what the operating system gives: Wait(word, expected, nanos), Wake(word), and Step(),
// which does nothing but in tests, where another member may run at each of them. The order of
// memory: a post, and the look at the others that follows it, are sequentially consistent, since of
// two who come last at least one must see both; copying is that of a seqlock, whose number is the
// slot's word; a published result is released with the word that says so.
template <class Hooks>
class Slots {
 public:
  // `slots` are of all members of the node; `group` are those that are in the group, `self` too.
  Slots(std::vector<SharedSlot> slots, std::vector<uint32_t> group, uint32_t self)
      : slots_(std::move(slots)), group_(std::move(group)), self_(self) {}

  uint32_t self() const { return self_; }
  // How many there are of the group.
  size_t members() const { return group_.size(); }
  SlotWord Own() const { return Load(self_, std::memory_order_acquire); }

  // This member arrives. False, and nothing has been posted: it brings more than a slot holds. Its
  // slot must be empty. Counts as a send: another member may send it from now on.
  bool Post(const Contribution& contribution) {
    const std::string bytes = EncodeContribution(contribution);
    SharedBytes& content = slots_[self_].content;
    if (bytes.size() > content.capacity()) return false;
    const SlotWord before = Own();
    // Whoever still copies the content of before must not take some of this for it.
    std::atomic_thread_fence(std::memory_order_release);
    Hooks::Step();
    content.Write(bytes, Hooks::Step);
    Hooks::Step();
    slots_[self_].word->exchange(before.Posted(contribution.sequence).bits(),
                                 std::memory_order_seq_cst);
    return true;
  }

  // This member calls by itself at that number: nobody need wait for it. Its slot must be empty.
  void Pass(uint64_t sequence) {
    const SlotWord passed = Own().Posted(sequence).With(SlotState::kEmpty);
    Hooks::Step();
    slots_[self_].word->exchange(passed.bits(), std::memory_order_seq_cst);
    if (SomebodyMayCome(sequence)) return;
    // Those who are there have waited for this member alone; one of them is enough.
    for (const uint32_t member : group_) {
      Hooks::Step();
      const SlotWord word = Load(member, std::memory_order_acquire);
      if (word.state != SlotState::kArrived || word.sequence != SlotWord::Low(sequence)) continue;
      return Hooks::Wake(slots_[member].word);
    }
  }

  // Whether a member of the group may yet post at this number: it has not been there, as far as its
  // slot tells.
  bool SomebodyMayCome(uint64_t sequence) const {
    const uint32_t low = SlotWord::Low(sequence);
    for (const uint32_t member : group_) {
      Hooks::Step();
      const SlotWord word = Load(member, std::memory_order_seq_cst);
      if (word.generation == 0 || word.sequence != low) return true;
    }
    return false;
  }

  // Takes this member's own arrival at that number and those of others that go with it; its own is
  // the first. Empty if its own is not there to be taken: then nothing is. What is taken must be
  // handed to Publish() or Release(), and this member's own slot emptied by Revoke(), before the
  // next call.
  std::vector<TakenPart> Take(uint64_t sequence) {
    std::vector<TakenPart> parts;
    const std::optional<TakenPart> own = TakeOne(self_, sequence);
    if (!own) return parts;
    parts.push_back(*own);
    for (const uint32_t member : group_) {
      if (member == self_) continue;
      std::optional<TakenPart> part = TakeOne(member, sequence);
      if (!part) continue;
      if (part->contribution.MeetsWith(own->contribution)) {
        parts.push_back(*std::move(part));
      } else {
        ReleaseOne(*part);
      }
    }
    return parts;
  }

  // Hands the result to the members of these parts, of which `completed` are indices; releases the
  // others. What does not fit is handed to nobody. Skips this member's own part.
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
      answered[i] ? End(parts[i], SlotState::kAnswered) : ReleaseOne(parts[i]);
    }
  }

  // Nobody sends these any more. Skips this member's own part.
  void Release(const std::vector<TakenPart>& parts) {
    for (const TakenPart& part : parts) {
      if (part.member != self_) ReleaseOne(part);
    }
  }

  // What the sender has published for this member's arrival, which must be answered: `answered` is
  // its word. Empties the slot; false if that has been done from elsewhere. `result` is nullopt
  // where what was published is no result of that number.
  bool TakeAnswer(SlotWord answered, uint64_t sequence, std::optional<Result>* result) {
    if (answered.by < slots_.size()) {
      Hooks::Step();
      const std::optional<std::string> bytes = slots_[answered.by].result.Read(Hooks::Step);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (bytes) *result = DecodeResult(*bytes);
      if (*result && (*result)->sequence != sequence) result->reset();
    }
    return Change(self_, answered, answered.With(SlotState::kEmpty));
  }

  // Takes this member's arrival back, and empties its slot. Returns the word as it was: where it
  // was taken, it may have been sent, or may be yet. Any thread of the owner may call it; one that
  // waits for the slot wakes.
  SlotWord Revoke() {
    Hooks::Step();
    const uint32_t bits =
        slots_[self_].word->fetch_and(SlotWord::kEmptied, std::memory_order_acq_rel);
    if (SlotWord::Of(bits).state != SlotState::kEmpty) Hooks::Wake(slots_[self_].word);
    return SlotWord::Of(bits);
  }

  // Blocks until this member's slot may have another word than `seen`, at most so long.
  void Wait(SlotWord seen, int64_t nanos) const {
    Hooks::Step();
    Hooks::Wait(slots_[self_].word, seen.bits(), nanos);
  }

 private:
  SlotWord Load(uint32_t member, std::memory_order order) const {
    return SlotWord::Of(slots_[member].word->load(order));
  }

  bool Change(uint32_t member, SlotWord from, SlotWord to) const {
    uint32_t expected = from.bits();
    Hooks::Step();
    return slots_[member].word->compare_exchange_strong(expected, to.bits(),
                                                        std::memory_order_acq_rel);
  }

  // Nullopt where there is no arrival at that number, or none any more.
  std::optional<TakenPart> TakeOne(uint32_t member, uint64_t sequence) {
    Hooks::Step();
    const SlotWord word = Load(member, std::memory_order_acquire);
    if (word.state != SlotState::kArrived || word.sequence != SlotWord::Low(sequence)) {
      return std::nullopt;
    }
    const SlotWord taken = word.TakenBy(self_);
    if (!Change(member, word, taken)) return std::nullopt;
    std::optional<Contribution> contribution = Copy(member, taken);
    if (!contribution) {
      Change(member, taken, taken.With(SlotState::kReleased));
      Hooks::Wake(slots_[member].word);
      return std::nullopt;
    }
    return TakenPart{member, taken, *std::move(contribution)};
  }

  // Nullopt if its owner has taken it back meanwhile, or it makes no sense.
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

  void ReleaseOne(const TakenPart& part) { End(part, SlotState::kReleased); }
  void End(const TakenPart& part, SlotState how) {
    if (!Change(part.member, part.word, part.word.With(how))) return;
    Hooks::Step();
    Hooks::Wake(slots_[part.member].word);
  }

  std::vector<SharedSlot> slots_;
  const std::vector<uint32_t> group_;
  const uint32_t self_;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SLOTS_H_
