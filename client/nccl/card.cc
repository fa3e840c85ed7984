#include "client/nccl/card.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/nccl/types.h"
#include "client/src/peer_names.h"
#include "muster/codec.h"

namespace muster::internal {
namespace {

absl::Status CheckVersions(const Group& group, const std::vector<NcclCard>& cards) {
  for (size_t i = 1; i < cards.size(); ++i) {
    if (cards[i].nccl_version == cards[0].nccl_version) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(DescribePeer(group, 0), " has NCCL ", NcclVersionText(cards[0].nccl_version),
                     " and ", DescribePeer(group, static_cast<int>(i)), " has NCCL ",
                     NcclVersionText(cards[i].nccl_version),
                     "; all ranks must load the same version (see LD_LIBRARY_PATH)"));
  }
  return absl::OkStatus();
}

absl::Status SharedGpu(const Group& group, const std::vector<NcclCard>& cards, int first,
                       int second) {
  return absl::FailedPreconditionError(absl::StrCat(
      DescribePeer(group, first), " and ", DescribePeer(group, second), " both use the GPU ",
      cards[second].device.uuid, " (", cards[second].device.name, "; their devices ",
      cards[first].device.index, " and ", cards[second].device.index,
      "), and NCCL needs one for each rank; start at most one process for each GPU, give each its "
      "own with CUDA_VISIBLE_DEVICES or NcclOptions::device, or, for tests, set "
      "MUSTER_ALLOW_SHARED_GPU=1 (or NcclOptions::allow_shared_gpu) on all ranks"));
}

absl::Status CheckDevices(const Group& group, const std::vector<NcclCard>& cards) {
  if (std::all_of(cards.begin(), cards.end(),
                  [](const NcclCard& card) { return card.allow_shared_gpu; })) {
    return absl::OkStatus();
  }
  std::map<absl::string_view, int> users;
  for (int i = 0; i < static_cast<int>(cards.size()); ++i) {
    const auto [user, is_new] = users.emplace(cards[i].device.uuid, i);
    if (!is_new) return SharedGpu(group, cards, user->second, i);
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeNcclCard(const NcclCard& card) {
  std::string bytes;
  Codec<std::string>::Append(card.device.uuid, &bytes);
  Codec<std::string>::Append(card.device.name, &bytes);
  Codec<int>::Append(card.device.index, &bytes);
  Codec<int>::Append(card.nccl_version, &bytes);
  Codec<bool>::Append(card.allow_shared_gpu, &bytes);
  return bytes;
}

absl::StatusOr<NcclCard> DecodeNcclCard(absl::string_view bytes) {
  absl::StatusOr<std::string> uuid = Codec<std::string>::Read(&bytes);
  if (!uuid.ok()) return uuid.status();
  absl::StatusOr<std::string> name = Codec<std::string>::Read(&bytes);
  if (!name.ok()) return name.status();
  const absl::StatusOr<int> index = Codec<int>::Read(&bytes);
  if (!index.ok()) return index.status();
  const absl::StatusOr<int> version = Codec<int>::Read(&bytes);
  if (!version.ok()) return version.status();
  const absl::StatusOr<bool> shared = Codec<bool>::Read(&bytes);
  if (!shared.ok()) return shared.status();
  return NcclCard{Device{*index, *std::move(name), *std::move(uuid)}, *version, *shared};
}

absl::Status CheckNcclCards(const Group& group, const std::vector<NcclCard>& cards) {
  absl::Status status = CheckVersions(group, cards);
  if (status.ok()) status = CheckDevices(group, cards);
  return status;
}

}  // namespace muster::internal
