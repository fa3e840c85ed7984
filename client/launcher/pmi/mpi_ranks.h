#ifndef MUSTER_CLIENT_LAUNCHER_PMI_MPI_RANKS_H_
#define MUSTER_CLIENT_LAUNCHER_PMI_MPI_RANKS_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/outcome/process_end.h"
#include "client/launcher/outcome/run_outcome.h"

namespace muster::launcher {

// ---- What the caller of MpiRanks has to do ----

// End the rank's process. MpiRanks::Ended() says why.
struct Expel {
  int local_rank;
};
// The run has failed, because ranks wait for this one, whose process ended with status 0 before.
struct Blame {
  int local_rank;
  MpiFault fault;
};
// Print a line for the user.
struct Announce {
  std::string text;
};
using MpiEffect = std::variant<Expel, Blame, Announce>;

// A call of MPI that `muster run` does not offer, and what a user can do in its place.
struct RefusedCall {
  std::string name;
  std::string advice;
};
inline RefusedCall SpawnCall() {
  return {"MPI_Comm_spawn()", "start all ranks together, by --nproc-per-node"};
}
inline RefusedCall NameService() {
  return {"MPI's name service", "pass the port to the other program in a file"};
}

// Knows which ranks of a node are in MPI and which of them wait, and decides which end of a process
// breaks the world and which wait is announced. The engines of PMI-1 and PMIx share it, so that a
// user reads the same whichever protocol an MPI library speaks. Ranks are numbered by their local
// rank.
//
//   MpiRanks ranks(0, 4, "n0", [&](MpiEffect effect) { ... });
//   ranks.Init(2, now);                             // rank 2 has called MPI_Init()
//   std::optional<MpiFault> fault = ranks.Ended(2, end);  // "before MPI_Finalize()"
//
// A rank is in MPI from Init() to Finalize(). If its process ends in between, the world is broken.
// So it is if one process ends without MPI_Init() and another one calls it: MPI_Init() waits for
// all ranks. The launcher may not see this wait, because MPICH 5 waits in the node's shared memory.
class MpiRanks {
 public:
  // A barrier, or an MPI_Init(), that lasts so long is announced, with the missing ranks; again
  // when it has lasted twice as long, and so on.
  static constexpr absl::Duration kFirstWarning = absl::Seconds(10);

  using Sink = std::function<void(MpiEffect)>;

  // `first_rank` is the number of the node's first rank, `node` its name for messages. `sink` is
  // called from the calls below. MPI_Init() waits for other nodes until OtherNodesAreIn(), if the
  // world has any.
  MpiRanks(int first_rank, int local_size, std::string node, Sink sink,
           bool has_other_nodes = false);

  int local_size() const { return static_cast<int>(ranks_.size()); }
  int Number(int local_rank) const { return first_rank_ + local_rank; }

  // ---- Processes ----

  // Handles a new process, without the state of the one before.
  void Started(int local_rank) { ranks_[local_rank] = Rank(); }
  // Handles the end of the rank's process. Returns how it broke the rules of MPI, if it did.
  // `knows_waits`: the ranks that are said to wait in a barrier still do.
  std::optional<MpiFault> Ended(int local_rank, const ProcessEnd& end, bool knows_waits = true);

  // Returns whether this process has called MPI_Init(). Then no other process can take its place.
  bool HasJoined(int local_rank) const { return ranks_[local_rank].phase != Phase::kOutside; }
  // Returns whether its MPI_Init() was refused.
  bool IsRefused(int local_rank) const { return ranks_[local_rank].phase == Phase::kRefused; }
  // Returns whether the process is about to be ended. Then the caller ignores what it sends.
  bool IsExpelled(int local_rank) const { return ranks_[local_rank].expelled; }
  bool Waits(int local_rank) const { return ranks_[local_rank].waits; }
  // Returns whether any rank is in MPI now.
  bool active() const { return !RanksInMpi().empty(); }

  // Returns whether ranks have been in MPI, and none is or can be again.
  bool AllHaveLeft() const;

  // ---- What the ranks call. `now` is SteadyNow(), here and below ----

  void Init(int local_rank, absl::Time now);
  void Finalize(int local_rank) { ranks_[local_rank].phase = Phase::kFinalized; }
  // Notes that MPI_Init() failed, and tells the user why, once for all ranks.
  void RefuseInit(int local_rank, const std::string& why);
  void Abort(int local_rank, int code, const std::string& text);
  // Notes that ranks of all other nodes have called MPI_Init().
  void OtherNodesAreIn();
  // Tells the user that the rank asked for this call.
  void RefuseCall(int local_rank, const RefusedCall& call);
  // Ends the rank's process, and the job, because of this fault.
  void Condemn(int local_rank, MpiFault fault);

  // ---- Barriers of all ranks ----

  // Returns whether all ranks of the node are in the barrier now.
  bool EnterBarrier(int local_rank, absl::Time now);
  // Returns the ranks that were in the barrier.
  std::vector<int> EndBarrier();
  // Notes that a rank waits in a barrier of some ranks for another one, whose process has ended.
  void MissFromBarrier(int ended_rank, int waiting_rank);
  // Ends the processes of the ranks in the barrier, because it cannot end.
  void FailBarrier(const std::string& why);
  // Ends the processes of all ranks in MPI, because MPI cannot go on.
  void FailWorld(const std::string& why);

  // ---- Warnings ----

  // Returns when Warn() is due, else infinite future.
  absl::Time next_warning() const { return std::min(barrier_wait_.next, init_wait_.next); }
  // `missing_elsewhere` are the ranks of other nodes for which this node waits; "" if there are
  // none, or they are not known.
  void Warn(absl::Time now, const std::string& missing_elsewhere = "");

  // Returns for which ranks of this node the others wait, for the user of this node or for those of
  // other nodes, who are told the node.
  enum class Reader { kHere, kOthers };
  std::string DescribeMissingTo(Reader reader) const;

 private:
  enum class Phase { kOutside, kInMpi, kFinalized, kRefused };
  struct Rank {
    Phase phase = Phase::kOutside;
    bool done = false;      // its process has ended with status 0
    bool waits = false;     // in the barrier
    bool expelled = false;  // its process has to end
    std::optional<MpiFault> fault;
  };
  // A wait of some ranks for others, and when it is announced next.
  struct Wait {
    absl::Time began;
    absl::Time next = absl::InfiniteFuture();

    void Begin(absl::Time now);
    void End() { next = absl::InfiniteFuture(); }
    bool lasts() const { return next != absl::InfiniteFuture(); }
    // Returns how long it has lasted, in words, if it is time to announce it.
    std::optional<std::string> TakeWarning(absl::Time now);
  };

  // Blames the ranks that have ended, among those that `counts` selects.
  template <typename Predicate>
  void BlameEnded(Predicate counts, const std::string& text);
  void AnnounceWait(const std::vector<int>& ranks, const std::string& wait);
  // Returns the numbers of the ranks that the predicate selects.
  template <typename Predicate>
  std::vector<int> RanksWhere(Predicate predicate) const;
  std::vector<int> WaitingRanks() const;
  std::vector<int> RanksInMpi() const;
  std::vector<int> RanksOutside() const;

  const int first_rank_;
  const std::string node_;
  const Sink sink_;
  std::vector<Rank> ranks_;  // by local rank
  bool refusal_announced_ = false;
  bool waits_for_nodes_;  // ranks of other nodes have not called MPI_Init()
  Wait barrier_wait_;
  Wait init_wait_;  // from the first MPI_Init() here until all ranks have called it
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PMI_MPI_RANKS_H_
