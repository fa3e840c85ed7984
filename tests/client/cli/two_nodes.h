#ifndef MUSTER_TESTS_CLIENT_CLI_TWO_NODES_H_
#define MUSTER_TESTS_CLIENT_CLI_TWO_NODES_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/client/cli/muster_command.h"
#include "tests/util/job/daemon.h"

namespace muster::cli {

inline constexpr absl::Duration kPatience = absl::Minutes(2);

// The launchers of nodeA and nodeB on this machine, and their daemon.
//
//   TwoNodes nodes("2", {}, {"./ring"});   // four ranks
//   nodes.ExpectSuccess();
class TwoNodes {
 public:
  // Runs "muster run" on both nodes. `sizes` is the value of --nproc-per-node.
  TwoNodes(const std::string& sizes, const std::vector<std::string>& flags,
           const std::vector<std::string>& program,
           const std::map<std::string, std::string>& env = {});
  // Each node has flags of its own, --nproc-per-node among them.
  TwoNodes(const std::vector<std::vector<std::string>>& flags,
           const std::vector<std::string>& program);

  muster::testing::TestDaemon& daemon() { return *daemon_; }
  muster::testing::Process& At(int node) { return nodes_[node]->process(); }
  muster::testing::Exit Wait(int node) { return At(node).Wait(kPatience); }
  // Waits until the nodes have printed a line for each of four ranks. `first_of_b` is nodeB's first
  // rank.
  void ExpectLines(const std::string& text, int first_of_b = 2);
  void ExpectSuccess();

 private:
  void Start(int node, const std::vector<std::string>& flags,
             const std::vector<std::string>& program,
             const std::map<std::string, std::string>& env);

  const std::unique_ptr<muster::testing::TestDaemon> daemon_;
  std::vector<std::unique_ptr<MusterCommand>> nodes_;
};

}  // namespace muster::cli

#endif  // MUSTER_TESTS_CLIENT_CLI_TWO_NODES_H_
