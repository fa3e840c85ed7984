#include "client/launcher/plan/leftover_finder.h"

#include <optional>
#include <utility>

#include "client/launcher/plan/rank_environment.h"

namespace muster::launcher {

LeftoverFinder::LeftoverFinder(std::string proc) : secrets_(kSecretVariable, std::move(proc)) {}

Leftovers LeftoverFinder::Find(pid_t rank, const std::string& secret, const Ranks& ranks,
                               const std::vector<ProcessInfo>& processes) {
  Leftovers left;
  // The same list for every rank, so that each environment is read once for all ranks.
  std::vector<ProcessInfo> candidates;
  for (const ProcessInfo& process : WithoutDescendantsOf(ranks.living, processes)) {
    if (process.group == rank) left.processes.push_back(process);
    if (ranks.ended.count(process.group) == 0) candidates.push_back(process);
  }
  const std::vector<std::optional<std::string>> secrets = secrets_.ValuesOf(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!secrets[i]) left.undecided.push_back(candidates[i]);
    if (secrets[i] == secret) left.processes.push_back(candidates[i]);
  }
  return left;
}

}  // namespace muster::launcher
