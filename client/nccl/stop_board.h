#ifndef MUSTER_CLIENT_NCCL_STOP_BOARD_H_
#define MUSTER_CLIENT_NCCL_STOP_BOARD_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/node/shared_region.h"

namespace muster::internal {

// One word that the ranks of a communicator share if they see the same /dev/shm: which of them was
// the first to stop NCCL, and why. Without it, a rank could return OK on data that were never
// reduced. A kernel of NCCL's that is told to abort does not stop dead. It moves no more data, but
// counts all its remaining steps as done (src/device/prims_simple.h, postPeer).
//
// Ranks 0 and 1 are in an all-reduce that waits for rank 2, and rank 0 gives up. Its kernel posts
// the remaining steps. Rank 1's kernel takes them for data and completes; its stream is idle, and
// ncclCommGetAsyncError says ncclSuccess.
//
// So a rank announces its stop before it calls NCCL, and a rank that finds its stream idle reads
// the word before it returns OK. Where NCCL moves data through memory that is exact: the word is
// written before the abort flag, the flag before the steps are posted, and these before the
// neighbour's kernel ends.
//
// Thread-safe, but for Unlink().
class StopBoard {
 public:
  struct Stop {
    int rank;
    absl::StatusCode why;  // ABORTED: the end of the job, which the other ranks hear of too
  };

  // A name for the board of the communicator that all ranks know by `secret`, an NCCL id or the
  // name of another board with something that is not used twice with it.
  static std::string NameOf(absl::string_view secret);

  // Maps the board of that name, or makes it: whichever rank comes first. Never blocks. An error
  // says why this rank has none.
  static absl::StatusOr<std::unique_ptr<StopBoard>> Open(const std::string& name);

  const std::string& name() const { return name_; }

  // Removes the name. Call it when all ranks have called Open().
  void Unlink() { region_->Unlink(); }

  // Notes that `rank` stops NCCL, unless another rank has done so before.
  void Announce(int rank, absl::StatusCode why);

  // The first rank that has stopped NCCL. Reads one cache line.
  std::optional<Stop> First() const;

 private:
  StopBoard(std::string name, std::unique_ptr<SharedRegion> region);

  const std::string name_;
  const std::unique_ptr<SharedRegion> region_;
  std::atomic<uint64_t>* const word_;  // 0: none; else the rank plus 1, and the code above it
};

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_NCCL_STOP_BOARD_H_
