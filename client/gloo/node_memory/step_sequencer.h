#ifndef MUSTER_CLIENT_GLOO_NODE_MEMORY_STEP_SEQUENCER_H_
#define MUSTER_CLIENT_GLOO_NODE_MEMORY_STEP_SEQUENCER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "client/gloo/endings/encoded_end_notice.h"

namespace muster::internal {

// An exception that a wait throws if one of the ranks that it waits for has ended its communicator.
class PeerEnded : public std::runtime_error {
 public:
  explicit PeerEnded(int rank) : std::runtime_error("its communicator has ended"), rank_(rank) {}
  int rank() const { return rank_; }  // in the group

 private:
  const int rank_;
};

// A sequencer that keeps the ranks of one node in step while they work on shared memory. Each
// collective is a number of steps, which all ranks count alike. In a step, a rank may write to one
// of its kSlots slots, reads what other ranks wrote in the step before, and publishes the step:
//
//   sequencer.Begin(tag);
//   sequencer.AwaitSlot();   // all ranks have read what this slot had three steps ago
//   ... write to slot() ...
//   sequencer.Publish();     // the next step begins
//   sequencer.AwaitPeers();  // all ranks have published the step before
//   ... read the other ranks' slot_before() ...
//
// Why three slots are enough: what step t writes is read in step t + 1. In step t the slot still
// has what step t - 3 wrote. Ranks read that in step t - 2, before they publish t - 2. So a rank
// that waits for all to publish t - 2 may overwrite it. As a rule they have done so long ago, and
// the wait does not block.
//
// The last step of a collective writes nothing and is not published: the first step of the next
// collective continues it. A barrier, or a small reduction, is one publication and one wait.
//
// There are no locks. Each rank writes to its own entry and increments one count in each step, so a
// rank that dies at any instruction leaves the memory consistent. The other ranks wait until they
// learn of its death. A wait ends by an exception: Interrupted if `stopped` returns true, or
// PeerEnded.
//
// Wake(), HasOpened() and NoticeOf() may be called from any thread, the other functions from one
// thread only. Tests: tests/client/gloo/shared_collectives_test.cc, node_memory_test.cc,
// killed_rank_test.cc.
class StepSequencer {
 public:
  // The highest number of ranks that may share a sequencer.
  static constexpr int kMaxRanks = 256;
  static constexpr int kSlots = 3;

  // Returns whether the wait in progress must end. A waiting thread asks before each sleep; `slept`
  // is true if it has slept for a while before and is still waiting.
  using Stopped = std::function<bool(bool slept)>;
  // Called with what a wait is about to throw.
  using BeforeThrow = std::function<void(const std::exception& error)>;

  static size_t BytesFor(int ranks);

  // Prepares `memory` as if all ranks had published the steps before `step`, a multiple of 8. For
  // tests of numbers that wrap.
  static void StartAt(uint32_t step, void* memory, int ranks);

  // `memory` was zero, or prepared by StartAt(), before the first rank used it. It is aligned to a
  // cache line and must outlive the sequencer. `group_ranks` has the rank numbers that exceptions
  // use; if empty, they use the numbers on the node.
  StepSequencer(void* memory, int rank, int ranks, Stopped stopped,
                std::vector<int> group_ranks = {});
  void set_before_throw(BeforeThrow before_throw) { before_throw_ = std::move(before_throw); }
  // Marks this rank as ended, unless End() has done so.
  ~StepSequencer();
  StepSequencer(const StepSequencer&) = delete;
  StepSequencer& operator=(const StepSequencer&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  // Begins a collective. Ranks whose collectives have different tags wait for each other until they
  // are stopped, and never read each other's data.
  void Begin(uint64_t tag) { tag_ = tag; }

  // Blocks until this step's slot may be written.
  void AwaitSlot() { AwaitAll(step_ - 2); }
  // Block until the slots that all other ranks, or `peer`, wrote in the step before may be read.
  void AwaitPeers();
  void AwaitPeer(int peer);
  // Publishes this step, and begins the next one.
  void Publish();

  // Return which of a rank's slots is written in this step, and was written in the step before.
  int slot() const { return static_cast<int>(step_ % kSlots); }
  int slot_before() const { return static_cast<int>((step_ - 1) % kSlots); }

  // Marks this rank as ended and leaves its end notice. Only the destructor may be called
  // afterwards.
  void End(const EndNotice& notice);
  // Returns the notice that `peer` left with End(), or nullopt if there is none.
  std::optional<EndNotice> NoticeOf(int peer) const;
  // Returns whether `peer` has opened its sequencer, so it will see what other ranks leave there.
  bool HasOpened(int peer) const;

  // Wakes all sleeping ranks, which then call `stopped` again. Any thread may call this.
  void Wake();

 private:
  struct RankEntry;
  struct Count;
  // Steps share a count modulo this number. A rank that has published t has waited until all others
  // published t - 2, so at most three steps are in progress at a time.
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
  template <class Error>
  [[noreturn]] void Throw(const Error& error);
  bool HasPublished(int peer, int64_t step) const;
  bool HasTag(int peer) const;
  std::vector<int> LateRanks(int64_t step) const;
  int GroupRank(int rank) const { return group_ranks_.empty() ? rank : group_ranks_[rank]; }
  std::vector<int> GroupRanks(std::vector<int> ranks) const;
  RankEntry& entry(int rank) const;
  EncodedEndNotice& notice(int rank) const;
  Count& count(int64_t step) const;
  uint32_t CountAfter(int64_t step) const;

  char* const memory_;
  const int rank_;
  const int ranks_;
  const Stopped stopped_;
  BeforeThrow before_throw_;  // may be null
  const std::vector<int> group_ranks_;
  const bool oversubscribed_;  // there are more ranks than processors
  int64_t step_;               // the step that is not published yet
  int64_t completed_step_;     // the latest step that all are known to have published
  uint64_t tag_ = 0;
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_GLOO_NODE_MEMORY_STEP_SEQUENCER_H_
