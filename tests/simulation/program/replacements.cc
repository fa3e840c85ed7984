#include "tests/simulation/program/replacements.h"

#include <algorithm>
#include <variant>

#include "tests/simulation/program/memberships.h"

namespace muster::simulation {

void Replacements::Answered(DaemonId daemon, const absl::Status& status,
                            const internal::Response& response) {
  if (!status.ok()) return;
  if (const auto* join = std::get_if<v1::JoinResponse>(&response)) Observe(daemon, *join);
  if (const auto* rejoin = std::get_if<v1::RejoinResponse>(&response)) Observe(daemon, *rejoin);
}

// Called for each answer. The first one of an epoch is sent when the epoch forms.
template <typename Place>
void Replacements::Observe(DaemonId daemon, const Place& place) {
  const uint64_t nonce = place.epoch().nonce();
  const auto [told, is_new] = histories_.emplace(nonce, place.history());
  // With two daemons, one may have learned meanwhile of an epoch that the other has formed.
  const bool same = told->second.SerializeAsString() == place.history().SerializeAsString();
  if (!same && !setting_->split) {
    simulation_->Violation("members of epoch ", place.epoch().number(),
                           " are told of the history {", told->second.ShortDebugString(), "} and {",
                           place.history().ShortDebugString(), "}");
  }
  if (!is_new) return;
  Count count = CountBefore(daemon, place);
  const uint32_t size = static_cast<uint32_t>(place.roster_size());
  const uint32_t newcomers = static_cast<uint32_t>(
      std::count_if(place.roster().begin(), place.roster().end(),
                    [](const v1::RosterEntry& entry) { return !entry.has_previous_rank(); }));
  newcomers_ += newcomers;
  const uint32_t growth = size - std::min(size, count.largest);
  count.replaced += newcomers - std::min(newcomers, growth);
  count.largest = std::max(count.largest, size);
  counts_[nonce] = count;
  last_formed_[daemon] = nonce;
  Check(count, place.history());
}

// Returns the counts over the earlier epochs that the daemon or a member of this one knows.
template <typename Place>
Replacements::Count Replacements::CountBefore(DaemonId daemon, const Place& place) const {
  Count count;
  if (const auto last = last_formed_.find(daemon); last != last_formed_.end()) {
    Include(last->second, &count);
  }
  for (const v1::RosterEntry& entry : place.roster()) {
    const auto latest = latest_of_.find(ProcessOf(entry.member()));
    if (entry.has_previous_rank() && latest != latest_of_.end()) Include(latest->second, &count);
  }
  return count;
}

void Replacements::Include(uint64_t epoch_nonce, Count* count) const {
  const Count& other = counts_.at(epoch_nonce);
  count->replaced = std::max(count->replaced, other.replaced);
  count->largest = std::max(count->largest, other.largest);
}

void Replacements::Check(const Count& count, const v1::JobHistory& told) {
  const uint32_t most = setting_->max_restarts_total;
  if (most != 0 && count.replaced > most) {
    simulation_->Violation(count.replaced, " processes have taken the places of others, ", most,
                           " may");
  }
  if (told.replacements() < count.replaced || told.largest_world_size() < count.largest) {
    simulation_->Violation("of ", count.replaced, " replacements, in a job of up to ",
                           count.largest, ", members are told ", told.ShortDebugString());
  }
  // Each newcomer has either made the job larger or replaced another process.
  if (told.replacements() + told.largest_world_size() > newcomers_) {
    simulation_->Violation(newcomers_, " have come into epochs, and members are told ",
                           told.ShortDebugString());
  }
}

}  // namespace muster::simulation
