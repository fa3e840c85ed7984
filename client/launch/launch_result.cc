#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/src/base/error_note.h"
#include "muster/exit_code.h"
#include "muster/launch.h"

namespace muster {
namespace {

std::string Describe(const LaunchedProcess& process) {
  return absl::StrCat("rank ", process.rank, " (pid ", process.pid,
                      "): ", absl::StatusCodeToString(process.status.code()), ": ",
                      process.status.message(),
                      process.was_ended ? " (ended because of the failure or a signal)" : "");
}

// Returns the failed processes, the first failure first.
std::vector<const LaunchedProcess*> Failures(const LaunchResult& result) {
  std::vector<const LaunchedProcess*> failures;
  for (const LaunchedProcess& process : result.processes) {
    if (process.status.ok()) continue;
    const bool first = process.rank == result.first_failed_rank;
    failures.insert(first ? failures.begin() : failures.end(), &process);
  }
  return failures;
}

// Returns the exit code that `muster run` would return: the code of the first process that failed
// on its own and does not blame another one.
int ExitCodeOf(const LaunchResult& result, const std::vector<const LaunchedProcess*>& failures) {
  for (const LaunchedProcess* process : failures) {
    const int code = ExitCode(process->status);
    const bool healthy = code == kExitPeerLost || code == kExitCoordinatorLost;
    if (!process->was_ended && !healthy) return code;
  }
  return ExitCode(result.coordinator.ok() ? failures.front()->status : result.coordinator);
}

}  // namespace

absl::Status LaunchResult::status() const {
  const std::vector<const LaunchedProcess*> failures = Failures(*this);
  if (failures.empty()) return coordinator;
  std::vector<std::string> parts;
  if (!coordinator.ok()) parts.emplace_back(coordinator.message());
  for (const LaunchedProcess* process : failures) parts.push_back(Describe(*process));
  const absl::Status& cause = coordinator.ok() ? failures.front()->status : coordinator;
  const absl::Status error(cause.code(),
                           absl::StrCat(failures.size(), " of ", processes.size(),
                                        " processes failed: ", absl::StrJoin(parts, "; ")));
  ErrorFacts facts;
  facts.rank = failures.front()->rank;
  facts.pid = failures.front()->pid;
  return internal::WithExitCode(internal::WithFacts(error, facts), ExitCodeOf(*this, failures));
}

}  // namespace muster
