#include "client/src/protocol/membership.h"

#include "absl/strings/str_cat.h"
#include "client/src/protocol/messages.h"

namespace muster::internal {

void Membership::Entered(v1::JoinResponse place) {
  const EpochId entered = EpochOf(place.epoch());
  if (epoch() == entered) return;
  if (const std::optional<EpochId> old = epoch()) {
    EpochBroken(*old, absl::AbortedError(absl::StrCat(
                          "epoch ", old->number, " has ended: this process, rank ", place_->rank(),
                          " of it, is rank ", place.rank(), " of epoch ", entered.number)));
  }
  place_ = std::move(place);
  groups_.clear();
  if (early_break_) EpochBroken(early_break_->first, early_break_->second);
  early_break_.reset();
}

std::optional<EpochId> Membership::epoch() const {
  if (!place_) return std::nullopt;
  return EpochOf(place_->epoch());
}

void Membership::EpochBroken(const EpochId& epoch, const absl::Status& why) {
  if (this->epoch() == epoch) {
    ended_.emplace(epoch, why);
  } else if (ended_.count(epoch) == 0) {
    early_break_.emplace(epoch, why);
  }
}

absl::Status Membership::HealthOf(const EpochId& epoch) const {
  const auto ended = ended_.find(epoch);
  return ended == ended_.end() ? absl::OkStatus() : ended->second;
}

Membership::Group& Membership::GroupOf(const std::string& name, const std::vector<int>& ranks) {
  const auto [group, is_new] = groups_.try_emplace(name);
  if (is_new) {
    group->second.ranks = ranks;
    group->second.sequence = std::make_shared<CollectiveSequence>(
        name.empty() ? "the world" : absl::StrCat("group '", name, "'"));
  }
  return group->second;
}

}  // namespace muster::internal
