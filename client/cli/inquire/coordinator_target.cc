#include "client/cli/inquire/coordinator_target.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/flags/coordinator_flag.h"
#include "common/process/local_coordinators.h"
#include "common/text/utf8.h"

namespace muster::cli {

absl::StatusOr<std::vector<CoordinatorTarget>> FindCoordinatorTargets(
    const std::string& coordinator, const std::string& job, const CredentialFiles& credentials) {
  std::vector<CoordinatorTarget> found;
  if (!coordinator.empty()) {
    const absl::StatusOr<HostPort> address = RequireCoordinator(coordinator);
    if (!address.ok()) return address.status();
    return std::vector<CoordinatorTarget>{{*address, credentials}};
  }
  for (const LocalCoordinator& local : FindLocalCoordinators()) {
    const absl::StatusOr<HostPort> address = ParseHostPort(local.address);
    if (!address.ok() || (!job.empty() && job != local.job)) continue;
    found.push_back({*address, credentials});
    found.back().credentials.token_file = local.token_file;
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(
      absl::StrCat("no coordinator ",
                   job.empty() ? "" : absl::StrCat("of a job '", ReplaceUnprintable(job), "' "),
                   "runs on this machine for this user; muster run starts one, and HOST:PORT or "
                   "MUSTER_COORDINATOR names one elsewhere"));
}

}  // namespace muster::cli
