#include "client/src/group/share_or_fail.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/src/base/outcome.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"
#include "common/names/operation_names.h"
#include "muster/job.h"

namespace muster::internal {
namespace {

// Returns "RunOnRank(rank 2)". If the root is out of range, the collective refuses it later.
std::string NameAt(const Group& group, int root, absl::string_view call) {
  const bool known = root >= 0 && root < group.size();
  return CallTypeName(call, absl::StrCat("rank ", known ? group.ranks()[root] : root));
}

}  // namespace

absl::StatusOr<std::string> WithMemberName(const Group& group, int index,
                                           absl::StatusOr<std::string> outcome) {
  if (outcome.ok() || group.size() == 1 || group.prevents_block()) return outcome;
  // Of this error and the one that the member's work has met, the text names the member first.
  const absl::Status error(outcome.status().code(), absl::StrCat(NameOfMember(group, index), ": ",
                                                                 outcome.status().message()));
  return WithMember(group, index, error);
}

absl::StatusOr<std::string> UnpackNamed(const Group& group, absl::string_view packed) {
  absl::StatusOr<std::string> outcome = UnpackOutcome(packed);
  if (outcome.ok()) return outcome;
  return WithMemberOfText(group, outcome.status());
}

absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view call,
                                                     const CallOptions& options, CallSite site) {
  const auto packed = group.AllGatherBytes(PackOutcome(mine), CallTypeName(call), options, site);
  if (!packed.ok()) return packed.status();
  return UnpackAll(group, *packed);
}

absl::StatusOr<std::vector<std::string>> UnpackAll(const Group& group,
                                                   const std::vector<std::string>& packed) {
  std::vector<std::string> values;
  for (size_t index = 0; index < packed.size(); ++index) {
    absl::StatusOr<std::string> value =
        WithMemberName(group, static_cast<int>(index), UnpackOutcome(packed[index]));
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return values;
}

absl::StatusOr<std::string> ShareNamed(const Group& group, int root,
                                       const absl::StatusOr<std::string>& outcome,
                                       absl::string_view call, const CallOptions& options,
                                       CallSite site) {
  if (group.prevents_block()) return outcome;
  const std::string what = NameAt(group, root, call);
  CallOptions patient = options;
  const bool at_root = group.rank() == root;
  if (!at_root && !options.timeout) patient.timeout = kRootLifetimeTimeout;
  const std::string packed = at_root ? PackOutcome(outcome) : "";
  absl::StatusOr<std::string> shared = group.BroadcastBytes(packed, root, what, patient, site);
  if (at_root && absl::IsResourceExhausted(shared.status())) {
    // The value is too large to send. Send the error, so that the other ranks do not wait for it.
    const std::string why = PackOutcome(WithMemberName(group, root, shared.status()));
    shared = group.BroadcastBytes(why, root, what, patient, site);
  }
  if (!shared.ok()) return shared.status();
  return UnpackNamed(group, *shared);
}

absl::StatusOr<std::string> ShareOutcome(const Group& group, int root,
                                         const absl::StatusOr<std::string>& outcome,
                                         absl::string_view operation, const CallOptions& options,
                                         CallSite site) {
  const bool fails = group.rank() == root && !outcome.ok();
  return fails ? ShareNamed(group, root, WithMemberName(group, root, outcome), operation, options,
                            site)
               : ShareNamed(group, root, outcome, operation, options, site);
}

}  // namespace muster::internal
