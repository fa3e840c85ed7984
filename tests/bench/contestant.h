#ifndef MUSTER_TESTS_BENCH_CONTESTANT_H_
#define MUSTER_TESTS_BENCH_CONTESTANT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/rank_crew.h"
#include "tests/util/daemon.h"
#include "tests/util/process.h"

namespace muster::testing {

// What control_plane.cc compares. kMusterApart is Muster where each rank calls by itself, as on
// nodes that have one rank.
enum class Side { kMuster, kMusterApart, kBare, kTcpStore, kJax };
inline constexpr Side kSides[] = {Side::kMuster, Side::kMusterApart, Side::kBare, Side::kTcpStore,
                                  Side::kJax};
inline bool IsMuster(Side side) { return side == Side::kMuster || side == Side::kMusterApart; }
// "muster", for files; "Muster", for people.
std::string NameOf(Side side);
std::string TitleOf(Side side);

// Where tools/peers has put PyTorch and JAX; empty if it has not.
std::string PeersHome();
// Whether it can run here.
bool IsInstalled(Side side);

// What the ranks do; `kind` and `bytes` are words of the command "run" in control_plane_rank.cc.
struct Operation {
  std::string title;
  std::string kind;
  size_t bytes = 0;
};

// What one operation costs, in microseconds: the time of a rank, and the median of its operations,
// both as the median rank has them; processor time of a rank, the mean of all; processor time of
// the service for one rank.
struct Sample {
  double wall = 0;
  double median = 0;
  double client = 0;
  double service = 0;
};

// A job of one side: a service, and ranks, all of them processes.
class Contestant {
 public:
  // All processes have loaded what they need, and no rank has connected. `observed`: Muster's
  // service serves metrics and writes a journal.
  static absl::StatusOr<std::unique_ptr<Contestant>> Start(Side side, int ranks,
                                                           bool observed = false);

  // From the first rank's call to the last one's return. Call it once, and first.
  absl::StatusOr<Sample> Join();
  // So many operations, one after the other.
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
  std::unique_ptr<TestDaemon> daemon_;  // Muster's service
  RankCrew crew_;                       // goes first, with every other process
  pid_t service_ = 0;
  int64_t next_ = 0;  // number of the next operation
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTESTANT_H_
