#ifndef MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_
#define MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/common/rank_processes.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {

// The contestants of control_plane.cc. In kMusterApart, each Muster rank makes its own calls, as on
// nodes that have one rank. In kMusterCommits, ranks complete collectives on their node
// (MUSTER_NODE_COMMITS). kTcpStoreKeys is a TCPStore whose ranks use nothing but counters and
// keys, which every release has.
enum class Side { kMuster, kMusterApart, kMusterCommits, kBare, kTcpStore, kTcpStoreKeys, kJax };
inline constexpr Side kSides[] = {Side::kMuster, Side::kMusterApart, Side::kMusterCommits,
                                  Side::kBare,   Side::kTcpStore,    Side::kTcpStoreKeys,
                                  Side::kJax};
inline bool IsMuster(Side side) {
  return side == Side::kMuster || side == Side::kMusterApart || side == Side::kMusterCommits;
}
// Return "muster", for file names, and "Muster", for people.
std::string NameOf(Side side);
std::string TitleOf(Side side);

// Returns the folder where tools/peers has installed PyTorch and JAX, or "" if it has not.
std::string PeersHome();
// Returns the version of "torch" or "jaxlib" there, or "".
std::string PeerVersion(const std::string& package);
// Returns whether this side can run on this machine.
bool IsInstalled(Side side);

// An operation of the ranks. `kind` and `bytes` are words of the command "run" in
// control_plane_rank.cc.
struct Operation {
  std::string title;
  std::string kind;
  size_t bytes = 0;
};

// The cost of one operation, in microseconds. `wall` is the time of a rank, and `median` the median
// of its operations; both are those of the median rank. `client` is the processor time of a rank,
// the mean of all ranks. `service` is the processor time of the service for one rank.
struct Sample {
  double wall = 0;
  double median = 0;
  double client = 0;
  double service = 0;
};

// A job of one side: a service and ranks, all of them processes.
class Contestant {
 public:
  // Starts the processes. When this returns, all have loaded their programs, and no rank has
  // connected. `observed`: Muster's service serves metrics and writes a journal.
  static absl::StatusOr<std::unique_ptr<Contestant>> Start(Side side, int ranks,
                                                           bool observed = false);

  // Joins. Measures from the first rank's call to the last one's return. Call this once, before
  // Run().
  absl::StatusOr<Sample> Join();
  // Runs `count` operations, one after the other.
  absl::StatusOr<Sample> Run(const Operation& operation, int count);
  absl::Status Leave();

 private:
  Contestant(Side side, int ranks, bool observed);
  absl::Status StartService();
  absl::Status Clean(int count);
  std::unique_ptr<Process> StartPeer(const std::string& port_file) const;
  void StartRanks();

  const Side side_;
  const int ranks_;
  const bool observed_;
  std::string address_;
  std::unique_ptr<TestDaemon> daemon_;  // the service of Muster
  RankProcesses rank_processes_;        // destroyed first, with all processes except the daemon
  pid_t service_ = 0;
  int64_t next_ = 0;  // the number of the next operation
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_
