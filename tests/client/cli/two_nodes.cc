#include "tests/client/cli/two_nodes.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::cli {

using muster::testing::Exit;
using muster::testing::TestDaemon;

TwoNodes::TwoNodes(const std::string& sizes, const std::vector<std::string>& flags,
                   const std::vector<std::string>& program,
                   const std::map<std::string, std::string>& env)
    : daemon_(TestDaemon::Start({"--world-size=4"})) {
  std::vector<std::string> all = flags;
  all.push_back("--nproc-per-node=" + sizes);
  for (int node = 0; node < 2; ++node) Start(node, all, program, env);
}

TwoNodes::TwoNodes(const std::vector<std::vector<std::string>>& flags,
                   const std::vector<std::string>& program)
    : daemon_(TestDaemon::Start({"--world-size=4"})) {
  for (int node = 0; node < 2; ++node) Start(node, flags[node], program, {});
}

void TwoNodes::Start(int node, const std::vector<std::string>& flags,
                     const std::vector<std::string>& program,
                     const std::map<std::string, std::string>& env) {
  std::vector<std::string> words = {"run", "--nnodes=2", absl::StrCat("--node-rank=", node),
                                    absl::StrCat("--node-id=node", node == 0 ? "A" : "B"),
                                    absl::StrCat("--coordinator=", daemon_->address())};
  words.insert(words.end(), flags.begin(), flags.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  nodes_.push_back(std::make_unique<MusterCommand>(words, env));
}

void TwoNodes::ExpectLines(const std::string& text, int first_of_b) {
  for (int rank = 0; rank < 4; ++rank) {
    const std::string line = absl::StrCat("[", rank, "] rank ", rank, " ", text);
    EXPECT_TRUE(At(rank < first_of_b ? 0 : 1).WaitForOutput(line, kPatience)) << line;
  }
}

void TwoNodes::ExpectSuccess() {
  for (int node = 0; node < 2; ++node) {
    EXPECT_EQ(Wait(node), (Exit{false, 0})) << At(node).Output();
  }
}

}  // namespace muster::cli
