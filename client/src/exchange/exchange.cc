#include "client/src/exchange/exchange.h"

#include <algorithm>

#include "client/src/group/share_or_fail.h"
#include "muster/protobuf.h"

namespace muster::internal {

absl::Status Exchange::ShareInfos(const absl::StatusOr<ExchangePeerInfo>& mine) {
  const absl::StatusOr<std::string> packed =
      mine.ok() ? absl::StatusOr<std::string>(Encode(*mine)) : mine.status();
  const auto shared = ShareOrFail(group_, packed, call_, options_);
  if (!shared.ok()) return shared.status();
  for (const std::string& bytes : *shared) {
    absl::StatusOr<ExchangePeerInfo> info = Decode<ExchangePeerInfo>(bytes);
    if (!info.ok()) return info.status();
    infos_.push_back(*std::move(info));
  }
  if (absl::Status status = CheckPeerInfos(infos_, group_); !status.ok()) return status;
  first_ = FirstIndex(infos_, group_);
  return absl::OkStatus();
}

absl::Status Exchange::Put(const std::function<absl::StatusOr<std::string>()>& put) {
  absl::StatusOr<std::string> ticket = std::string();
  if (infos_[group_.rank()].offers() && !is_first()) ticket = put();
  auto tickets = ShareOrFail(group_, ticket, call_, options_);
  if (!tickets.ok()) return tickets.status();
  tickets_ = *std::move(tickets);
  return absl::OkStatus();
}

absl::Status Exchange::Take(const std::function<absl::Status()>& take) {
  const absl::Status taken = is_first() ? take() : absl::OkStatus();
  const absl::StatusOr<std::string> outcome =
      taken.ok() ? absl::StatusOr<std::string>(std::string()) : taken;
  return ShareOrFail(group_, outcome, call_, options_).status();
}

std::vector<int> Exchange::Indexes() const {
  const std::vector<int>& group = group_.ranks();
  std::vector<int> indexes;
  for (const int rank : infos_[0].ranks()) {
    indexes.push_back(
        static_cast<int>(std::find(group.begin(), group.end(), rank) - group.begin()));
  }
  return indexes;
}

}  // namespace muster::internal
