#include "server/core/job/job_context.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace muster::core {

JobContext::JobContext(Options job_options)
    : options(std::move(job_options)), out(options.job_id), budget(options.limits.max_held_bytes) {}

absl::Status JobContext::CheckJob(absl::string_view job_id) const {
  if (job_id.empty() || job_id == options.job_id) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat("this coordinator serves job '", options.job_id, "', not '",
                   absl::CHexEscape(job_id.substr(0, options.limits.max_name_bytes)),
                   "'; check MUSTER_JOB and MUSTER_COORDINATOR of the caller"));
}

void JobContext::Log(Severity severity, std::string text, absl::string_view kind,
                     bool logged_by_launcher) {
  timeline.Add(now, severity, text, kind);
  out.Log(severity, std::move(text), logged_by_launcher);
}

void JobContext::Send(const Member& member, SharedEvent event, bool urgent) {
  if (member.attached()) out.Send(member.stream(), std::move(event), urgent);
}

}  // namespace muster::core
