#include "muster/or_die.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/src/job/live_jobs.h"
#include "muster/exit_code.h"

namespace muster {
namespace {

// Returns "rank 1 of job 'train'", or "process" before a Join() or if this process has joined
// several jobs.
std::string DescribeProcess(absl::string_view message) {
  const std::optional<internal::LiveJob> job = internal::OnlyLiveJob();
  if (!job) return "process";
  const std::string name = absl::StrCat("job '", job->id, "'");
  return absl::StrCat("rank ", job->rank,
                      absl::StrContains(message, name) ? "" : absl::StrCat(" of ", name));
}

std::string DescribeSite(const CallSite& site) {
  const absl::string_view file = site.file;
  if (file.empty()) return "";
  return absl::StrCat(" (", file.substr(file.rfind('/') + 1), ":", site.line, ")");
}

}  // namespace

void OrDie(const absl::Status& status, CallSite site) {
  if (status.ok()) return;
  const std::string line =
      absl::StrCat(DescribeProcess(status.message()), DescribeSite(site), ": ", status.message());
  WriteTerminationReason(line);
  std::cout.flush();
  std::cerr << line << std::endl;
  std::fflush(nullptr);
  std::_Exit(ExitCode(status));
}

}  // namespace muster
