#include "client/src/share_or_fail.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/outcome.h"
#include "muster/job.h"

namespace muster::internal {

std::string NameOfMember(const Group& group, int index) {
  const Member& member = group.member(index);
  return absl::StrCat("rank ", member.rank, " (node '", member.node_id, "', pid ", member.pid, ")");
}

absl::Status WithNameOf(const Group& group, int index, const absl::Status& error) {
  return absl::Status(error.code(),
                      absl::StrCat(NameOfMember(group, index), ": ", error.message()));
}

absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view step,
                                                     const CallOptions& options, CallSite site) {
  const auto packed = group.AllGatherBytes(PackOutcome(mine), step, options, site);
  if (!packed.ok()) return packed.status();
  std::vector<std::string> shared;
  for (size_t index = 0; index < packed->size(); ++index) {
    absl::StatusOr<std::string> one = UnpackOutcome((*packed)[index]);
    if (!one.ok()) {
      return WithNameOf(group, static_cast<int>(index), one.status());
    }
    shared.push_back(*std::move(one));
  }
  return shared;
}

absl::StatusOr<std::string> ShareOutcome(const Group& group, int root,
                                         const absl::StatusOr<std::string>& outcome,
                                         absl::string_view operation, const CallOptions& options,
                                         CallSite site) {
  if (group.prevents_block()) return outcome;
  CallOptions patient = options;
  const bool at_root = group.rank() == root;
  if (!at_root && !options.timeout) patient.timeout = kWhileTheRootLives;
  const std::string packed = at_root ? PackOutcome(outcome) : "";
  absl::StatusOr<std::string> shared = group.BroadcastBytes(packed, root, operation, patient, site);
  if (at_root && absl::IsResourceExhausted(shared.status())) {
    // The others must not wait for a value that cannot be sent.
    shared = group.BroadcastBytes(PackOutcome(shared.status()), root, operation, patient, site);
  }
  if (!shared.ok()) return shared.status();
  absl::StatusOr<std::string> unpacked = UnpackOutcome(*shared);
  if (unpacked.ok() || group.size() == 1) return unpacked;
  return WithNameOf(group, root, unpacked.status());
}

}  // namespace muster::internal
