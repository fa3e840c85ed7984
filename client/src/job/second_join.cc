#include "client/src/job/second_join.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "client/src/base/error_note.h"
#include "client/src/job/live_jobs.h"

namespace muster::internal {
namespace {

std::optional<LiveJob> JoinedJob(const JobOptions& options) {
  if (options.coordinator.empty()) return std::nullopt;  // in serial mode, each Job is independent
  return FindLiveJob(options.job, options.coordinator, options.rank);
}

absl::Status AlreadyJoined(const LiveJob& joined) {
  return WithExitCode(absl::AlreadyExistsError(absl::StrCat("this process has already joined job '",
                                                            joined.id, "', as rank ", joined.rank,
                                                            "; use the Job that it has")),
                      kExitBadConfiguration);
}

}  // namespace

absl::Status CheckNotJoined(const JobOptions& options) {
  const std::optional<LiveJob> joined = JoinedJob(options);
  if (joined && options.rank == joined->rank) return AlreadyJoined(*joined);
  return absl::OkStatus();
}

absl::Status ExplainRefusedJoin(const JobOptions& options, const absl::Status& refused) {
  const std::optional<LiveJob> joined = JoinedJob(options);
  if (!joined) return refused;
  if (absl::IsAlreadyExists(refused) || absl::IsFailedPrecondition(refused)) {
    return AlreadyJoined(*joined);
  }
  if (!absl::IsDeadlineExceeded(refused)) return refused;
  return Reworded(refused, absl::StrCat(refused.message(), "; this process has already joined the ",
                                        "job, as rank ", joined->rank,
                                        ": if that is not on purpose, use the Job that it has"));
}

}  // namespace muster::internal
