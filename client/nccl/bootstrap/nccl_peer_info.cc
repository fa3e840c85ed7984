#include "client/nccl/bootstrap/nccl_peer_info.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "client/nccl/bootstrap/settings.h"
#include "client/nccl/device/nccl_types.h"
#include "client/src/group/rank_names.h"

namespace muster::internal {
namespace {

absl::Status CheckVersions(const Group& group, const std::vector<NcclPeerInfo>& infos) {
  for (size_t i = 1; i < infos.size(); ++i) {
    if (infos[i].nccl_version() == infos[0].nccl_version()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(DescribePeer(group, 0), " has NCCL ", NcclVersionText(infos[0].nccl_version()),
                     " and ", DescribePeer(group, static_cast<int>(i)), " has NCCL ",
                     NcclVersionText(infos[i].nccl_version()),
                     "; all ranks must load the same version (see LD_LIBRARY_PATH)"));
  }
  return absl::OkStatus();
}

absl::Status SharedGpu(const Group& group, const std::vector<NcclPeerInfo>& infos, int first,
                       int second) {
  return absl::FailedPreconditionError(absl::StrCat(
      DescribePeer(group, first), " and ", DescribePeer(group, second), " both use the GPU ",
      infos[second].gpu_uuid(), " (", infos[second].gpu_name(), "; their devices ",
      infos[first].gpu_index(), " and ", infos[second].gpu_index(),
      "), and NCCL needs one for each rank; start at most one process for each GPU, give each its "
      "own with CUDA_VISIBLE_DEVICES or NcclOptions::device, or, for tests, set "
      "MUSTER_ALLOW_SHARED_GPU=1 (or NcclOptions::allow_shared_gpu) on all ranks"));
}

absl::Status CheckDevices(const Group& group, const std::vector<NcclPeerInfo>& infos) {
  if (std::all_of(infos.begin(), infos.end(),
                  [](const NcclPeerInfo& info) { return info.allow_shared_gpu(); })) {
    return absl::OkStatus();
  }
  std::map<absl::string_view, int> users;
  for (int i = 0; i < static_cast<int>(infos.size()); ++i) {
    const auto [user, is_new] = users.emplace(infos[i].gpu_uuid(), i);
    if (!is_new) return SharedGpu(group, infos, user->second, i);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNcclPeerInfos(const Group& group, const std::vector<NcclPeerInfo>& infos) {
  absl::Status status = CheckVersions(group, infos);
  if (status.ok()) status = CheckSettings(group, infos);
  if (status.ok()) status = CheckDevices(group, infos);
  return status;
}

}  // namespace muster::internal
