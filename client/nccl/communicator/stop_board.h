#ifndef MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_BOARD_H_
#define MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_BOARD_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// A word in memory that the ranks of a communicator share if they see the same /dev/shm: which rank
// was the first to stop NCCL, and why. Without it, a rank could return OK on data that was never
// reduced, because a kernel of NCCL that is told to abort does not simply stop. It moves no more
// data, but counts all its remaining steps as done (src/device/prims_simple.h, postPeer):
//
//   Ranks 0 and 1 are in an all-reduce that waits for rank 2, and rank 0 gives up. Its kernel posts
//   the remaining steps. Rank 1's kernel takes them for data and completes. Its stream is idle, and
//   ncclCommGetAsyncError returns ncclSuccess.
//
// So a rank announces its stop before it calls NCCL, and a rank that finds its stream idle reads
// the word before it returns OK. This is exact if NCCL moves data through memory. Then the word is
// written before the abort flag, the flag is set before the steps are posted, and the steps are
// posted before the neighbour's kernel ends.
//
// Thread-safe, except Unlink(). Tests: tests/client/nccl/stop_board_test.cc and
// stopped_peer_test.cc.
class StopBoard {
 public:
  struct Stop {
    int rank;
    absl::StatusCode why;  // ABORTED: the end of the job, of which the other ranks hear too
  };

  // Returns a board name that all ranks can derive from `secret`: an NCCL id, or the name of
  // another board with a suffix that is used only once with it.
  static std::string NameOf(absl::string_view secret);

  // Maps the board of that name, and makes it if this rank is the first. Never blocks. An error
  // says why this rank has no board.
  static absl::StatusOr<std::unique_ptr<StopBoard>> Open(const std::string& name);

  const std::string& name() const { return name_; }

  // Removes the name. Call it after all ranks have called Open().
  void Unlink() { region_->Unlink(); }

  // Records that `rank` stops NCCL, unless another rank has been recorded before.
  void Announce(int rank, absl::StatusCode why);

  // Returns the first rank that has stopped NCCL. Reads one cache line.
  std::optional<Stop> First() const;

 private:
  StopBoard(std::string name, std::unique_ptr<SharedRegion> region);

  const std::string name_;
  const std::unique_ptr<SharedRegion> region_;
  std::atomic<uint64_t>* const word_;  // 0: none; else the rank + 1, and the code above it
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_COMMUNICATOR_STOP_BOARD_H_
