#include "client/nccl/bootstrap/ids.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/nccl/device/errors.h"
#include "client/nccl/device/features.h"
#include "client/src/base/outcome.h"
#include "client/src/group/named_members.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

constexpr char kIdTypeName[] = "Communicator::Create(NCCL id)";
constexpr int kDefaultRanksPerId = 128;

// Returns a new id, or the error, packed. NCCL opens a listening socket and a thread for each id,
// which end when all ranks have connected. An id that is never used keeps them: NCCL has no call to
// release them.
std::string CreateId() {
  ncclUniqueId id;
  const absl::Status status = NcclStatus("ncclGetUniqueId", ncclGetUniqueId(&id));
  if (!status.ok()) return PackOutcome(status);
  return PackOutcome(std::string(id.internal, sizeof(id.internal)));
}

absl::StatusOr<ncclUniqueId> ReadId(const Group& group, int creator, absl::string_view packed) {
  const absl::StatusOr<std::string> bytes = UnpackOutcome(packed);
  if (!bytes.ok()) {
    const std::string text = absl::StrCat(
        DescribePeer(group, creator), " could not create an NCCL id: ", bytes.status().message());
    return WithMember(group, creator, absl::FailedPreconditionError(text));
  }
  ncclUniqueId id;
  if (bytes->size() != sizeof(id.internal)) {
    return absl::InternalError(absl::StrCat(DescribePeer(group, creator), " sent an NCCL id of ",
                                            bytes->size(), " bytes, expected ",
                                            sizeof(id.internal)));
  }
  std::memcpy(id.internal, bytes->data(), bytes->size());
  return id;
}

absl::StatusOr<std::vector<ncclUniqueId>> ShareOneId(const Group& group, const Deadline& deadline) {
  const std::string own = group.rank() == 0 ? CreateId() : "";
  const absl::StatusOr<std::string> packed =
      group.BroadcastBytes(own, 0, kIdTypeName, deadline.Remaining());
  if (!packed.ok()) return packed.status();
  const absl::StatusOr<ncclUniqueId> id = ReadId(group, 0, *packed);
  if (!id.ok()) return id.status();
  return std::vector<ncclUniqueId>{*id};
}

absl::StatusOr<std::vector<ncclUniqueId>> ShareManyIds(const Group& group, int ranks_per_id,
                                                       const Deadline& deadline) {
  const std::string own = group.rank() % ranks_per_id == 0 ? CreateId() : "";
  const absl::StatusOr<std::vector<std::string>> packed =
      group.AllGatherBytes(own, kIdTypeName, deadline.Remaining());
  if (!packed.ok()) return packed.status();
  std::vector<ncclUniqueId> ids;
  for (int creator = 0; creator < group.size(); creator += ranks_per_id) {
    const absl::StatusOr<ncclUniqueId> id = ReadId(group, creator, (*packed)[creator]);
    if (!id.ok()) return id.status();
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace

// Returns the same value on all ranks, since all have loaded the same version.
int RanksPerId() {
  if (!NcclHasScalableInit()) return 0;
  const char* const text = std::getenv("MUSTER_NCCL_RANKS_PER_ID");
  int ranks = 0;
  if (text != nullptr && absl::SimpleAtoi(text, &ranks) && ranks > 0) return ranks;
  return kDefaultRanksPerId;
}

absl::StatusOr<std::vector<ncclUniqueId>> ShareIds(const Group& group, int ranks_per_id,
                                                   const Deadline& deadline) {
  const bool one = ranks_per_id == 0 || group.size() <= ranks_per_id;
  return one ? ShareOneId(group, deadline) : ShareManyIds(group, ranks_per_id, deadline);
}

}  // namespace muster::internal
