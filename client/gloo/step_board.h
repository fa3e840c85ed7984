#ifndef MUSTER_CLIENT_GLOO_STEP_BOARD_H_
#define MUSTER_CLIENT_GLOO_STEP_BOARD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "client/gloo/written_words.h"

namespace muster::internal {

// Thrown by a wait for ranks of which one has ended its communicator, and will never come.
class PeerEnded : public std::runtime_error {
 public:
  explicit PeerEnded(int rank) : std::runtime_error("its communicator has ended"), rank_(rank) {}
  int rank() const { return rank_; }  // in the group

 private:
  const int rank_;
};

// How the ranks of one node keep in step while they work on shared memory. Every collective is a
// number of steps, which all ranks count alike. In a step a rank may write to one of its kSlots
// slots, reads what others have written in the step before, and publishes the step. So
//
//   - what step t has written is read in step t + 1, after a wait for those who wrote it;
//   - what stands in its slot since step t - 3 has been read by all who have published t - 2, which
//     is waited for before anything is written. That is long ago as a rule: nobody waits there.
//
// The last step of a collective, in which nothing is written, is not published: the first step of
// the next one is the same. A barrier, or a small reduction, is one publication and one wait.
//
// Each rank writes to its own line and counts itself in once a step; there are no locks, so a rank
// that dies at any instruction leaves everything whole. The others wait until they are told of it.
// Waits end by exceptions: Interrupted when `stopped` says so, and PeerEnded.
//
// For one thread, but for Wake(), IsHere() and WordsOf().
class StepBoard {
 public:
  // How many ranks may share a board.
  static constexpr int kMaxRanks = 256;
  static constexpr int kSlots = 3;

  // Whether the wait in progress is to end. It is asked before each time that the thread sleeps,
  // and with `slept` after it has done so for a while in vain.
  using Stopped = std::function<bool(bool slept)>;

  static size_t BytesFor(int ranks);

  // Lets ranks begin at this step, a multiple of 8, as if they had come so far. For tests: the
  // numbers that are shared wrap.
  static void StartAt(uint32_t step, void* memory, int ranks);

  // On memory that was zero, or what StartAt() made of it, when the first rank came, and has the
  // alignment of a cache line. It must outlive the board. `names` has what the ranks are called in
  // exceptions; empty: by their numbers here.
  StepBoard(void* memory, int rank, int ranks, Stopped stopped, std::vector<int> names = {});
  // Tells the others that this rank has ended, unless End() has.
  ~StepBoard();
  StepBoard(const StepBoard&) = delete;
  StepBoard& operator=(const StepBoard&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // A collective begins. Ranks whose collectives have different tags wait for each other until they
  // are stopped, and see nothing of each other's data.
  void Begin(uint64_t tag) { tag_ = tag; }

  // Before this step's slot is written.
  void AwaitSlot() { AwaitAll(step_ - 2); }
  // Before the others' slots of the step before are read; or that of one.
  void AwaitPeers();
  void AwaitPeer(int peer);
  // This step is done.
  void Publish();

  // Which of a rank's slots is written in this step, and was in the step before.
  int slot() const { return static_cast<int>(step_ % kSlots); }
  int slot_before() const { return static_cast<int>((step_ - 1) % kSlots); }

  // Tells the others that this rank has ended, and why. Nothing but the destructor comes after it.
  void End(const PeerEnd& words);
  // What `peer` said in End(); nothing if it has not, or if it ended without a word.
  std::optional<PeerEnd> WordsOf(int peer) const;
  // Whether `peer` has its board, and so finds what others say.
  bool IsHere(int peer) const;

  // Wakes whoever sleeps, to look at `stopped`. From any thread.
  void Wake();

 private:
  struct Line;
  struct Count;
  // A rank that has published t has waited for all others' t - 2, so at most three steps are
  // counted at a time.
  static constexpr int kCounts = 8;

  void AwaitAll(int64_t step);
  void CheckTags(int first, int end);
  template <class Reached, class Late>
  void Wait(std::atomic<uint32_t>* word, std::atomic<uint32_t>* sleepers, Reached reached,
            Late late);
  template <class Reached>
  bool Spin(Reached reached) const;
  template <class Late>
  void CheckStopped(bool slept, Late late);
  bool HasPublished(int peer, int64_t step) const;
  bool HasTag(int peer) const;
  std::vector<int> LateAt(int64_t step) const;
  int NameOf(int rank) const { return names_.empty() ? rank : names_[rank]; }
  std::vector<int> NamesOf(std::vector<int> ranks) const;
  Line& line(int rank) const;
  WrittenWords& words(int rank) const;
  Count& count(int64_t step) const;
  uint32_t CountAfter(int64_t step) const;

  char* const memory_;
  const int rank_;
  const int ranks_;
  const Stopped stopped_;
  const std::vector<int> names_;
  const bool crowded_;  // there are more ranks than processors
  int64_t step_;        // the one that is not published yet
  int64_t all_at_;      // all are known to have published it
  uint64_t tag_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_STEP_BOARD_H_
