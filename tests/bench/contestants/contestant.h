#ifndef MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_
#define MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/common/rank_processes.h"
#include "tests/bench/common/shape.h"
#include "tests/bench/common/simulated_network.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {

// The contestants of control_plane.cc, nodes.cc and store.cc. In kMusterByDaemon, ranks complete no
// collectives on their node (MUSTER_NODE_COMMITS=0). In kMusterApart, each rank makes its own
// calls, as on nodes that have one rank (MUSTER_NODE_FANIN=0). kTcpStoreKeys is a TCPStore whose
// ranks use nothing but counters and keys, which every release has. kStore is Job::store() in C++.
// In kEndpoint and kEndpoints, the clients are PyTorch's, and `muster run --torch-store=loopback`
// serves them, on one node and on two.
enum class Side {
  kMuster,
  kMusterByDaemon,
  kMusterApart,
  kBare,
  kTcpStore,
  kTcpStoreKeys,
  kJax,
  kStore,
  kEndpoint,
  kEndpoints
};
// Returns whether the ranks are programs of Muster's SDK.
bool IsMuster(Side side);
// Returns whether this side needs what tools/peers brings.
bool NeedsPeers(Side side);
// Return "muster", for file names, and "Muster", for people.
std::string NameOf(Side side);
std::string TitleOf(Side side);

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
  struct Options {
    bool observed = false;  // Muster's service serves metrics and writes a journal
    // If set, each node of the shape has its place there, and the service is on the first one.
    // Outlives the contestant. Not for endpoints, nor for JAX.
    const SimulatedNetwork* network = nullptr;
  };

  // Starts the processes. When this returns, all have loaded their programs, and no rank has
  // connected.
  static absl::StatusOr<std::unique_ptr<Contestant>> Start(Side side, const Shape& shape,
                                                           const Options& options);

  // Joins. Measures from the first rank's call to the last one's return. Call this once, before
  // Run().
  absl::StatusOr<Sample> Join();
  // Runs `count` operations, one after the other.
  absl::StatusOr<Sample> Run(const Operation& operation, int count);
  absl::Status Leave();

 private:
  Contestant(Side side, const Shape& shape, const Options& options);
  absl::Status StartService();
  absl::Status StartMuster();
  absl::Status StartEndpoints();
  absl::Status Clean(const Operation& operation, int count);
  // Return the words that start the Python program with these ranks, and its environment.
  std::vector<std::string> PeerWords(const std::string& port_file, int first, int count) const;
  static std::map<std::string, std::string> PeerEnvironment();
  // Starts a process on a node of the network, if there is one.
  std::unique_ptr<Process> StartOn(int node, const std::vector<std::string>& words,
                                   const std::map<std::string, std::string>& env = {}) const;
  // Returns the address of the service, given its port.
  std::string AddressAt(int port) const;
  void StartRanks();
  void StartPeersOfOtherNodes();
  // Returns the processor time that the services have used, in microseconds.
  double MicrosOfServices() const;

  const Side side_;
  const Shape shape_;
  const Options options_;
  std::string address_;
  std::unique_ptr<TestDaemon> daemon_;  // the service of Muster
  RankProcesses rank_processes_;        // destroyed first, with all processes except the daemon
  std::vector<pid_t> services_;
  std::vector<pid_t> launchers_;  // of endpoints
  int64_t next_ = 0;              // the number of the next operation
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CONTESTANTS_CONTESTANT_H_
