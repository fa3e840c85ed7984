#include "client/gloo/memory_sharing.h"

#include "absl/strings/str_cat.h"
#include "client/gloo/step_board.h"
#include "client/src/environment/variables.h"
#include "client/src/job/rank_names.h"

namespace muster::internal {
namespace {

constexpr char kVariable[] = "MUSTER_GLOO_SHARED_MEMORY";

absl::Status NotShared(absl::string_view why) { return absl::FailedPreconditionError(why); }

}  // namespace

absl::StatusOr<bool> MayShareMemory() {
  const Variables variables = ProcessVariables();
  VariableReader reader(variables);
  bool share = true;
  reader.Read(kVariable, &share);
  if (!reader.status().ok()) return reader.status();
  return share;
}

absl::StatusOr<std::string> SharedMemoryFor(const Group& group,
                                            const std::vector<GlooPeerInfo>& infos) {
  if (group.size() > StepBoard::kMaxRanks) {
    return NotShared(absl::StrCat("they are more than ", StepBoard::kMaxRanks));
  }
  for (int rank = 0; rank < group.size(); ++rank) {
    if (infos[rank].shared_memory().empty()) {
      return NotShared(absl::StrCat(DescribePeer(group, rank), " has ", kVariable, "=0"));
    }
    if (infos[rank].boot_id().empty() || infos[rank].boot_id() != infos[0].boot_id()) {
      return NotShared(absl::StrCat(DescribePeer(group, rank), " is on another machine than ",
                                    DescribePeer(group, 0)));
    }
  }
  return infos[0].shared_memory();
}

}  // namespace muster::internal
