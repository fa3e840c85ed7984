#include "client/src/share_or_fail.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/src/outcome.h"

namespace muster::internal {

std::string NameOfMember(const Group& group, int index) {
  const Member& member = group.member(index);
  return absl::StrCat("rank ", member.rank, " (node '", member.node_id, "', pid ", member.pid, ")");
}

absl::StatusOr<std::vector<std::string>> ShareOrFail(const Group& group,
                                                     const absl::StatusOr<std::string>& mine,
                                                     absl::string_view step,
                                                     const CallOptions& options) {
  const auto packed = group.AllGatherBytes(PackOutcome(mine), step, options);
  if (!packed.ok()) return packed.status();
  std::vector<std::string> shared;
  for (size_t index = 0; index < packed->size(); ++index) {
    absl::StatusOr<std::string> one = UnpackOutcome((*packed)[index]);
    if (!one.ok()) {
      return absl::Status(
          one.status().code(),
          absl::StrCat(NameOfMember(group, static_cast<int>(index)), ": ", one.status().message()));
    }
    shared.push_back(*std::move(one));
  }
  return shared;
}

}  // namespace muster::internal
