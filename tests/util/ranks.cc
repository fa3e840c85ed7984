#include "tests/util/ranks.h"

#include "absl/strings/str_cat.h"

namespace muster::testing {

Ranks::Ranks(int size, int per_node, const std::vector<std::string>& command,
             const std::map<std::string, std::string>& env)
    : daemon_(TestDaemon::Start({"--world-size", absl::StrCat(size), "--member-grace", "300ms"})) {
  for (int rank = 0; rank < size; ++rank) {
    std::map<std::string, std::string> place = {
        {"MUSTER_COORDINATOR", daemon_->address()},
        {"MUSTER_RANK", absl::StrCat(rank)},
        {"MUSTER_NODE_ID", absl::StrCat("node-", rank / per_node)}};
    place.insert(env.begin(), env.end());
    processes_.push_back(Process::Start(command, place));
  }
}

std::vector<Exit> Ranks::exits() const {
  std::vector<Exit> exits;
  for (const auto& process : processes_) exits.push_back(process->Wait());
  return exits;
}

std::string Ranks::output(int rank) const {
  processes_[rank]->Wait();
  return processes_[rank]->Output();
}

std::vector<std::string> Ranks::outputs() const {
  std::vector<std::string> outputs;
  for (int rank = 0; rank < size(); ++rank) outputs.push_back(output(rank));
  return outputs;
}

}  // namespace muster::testing
