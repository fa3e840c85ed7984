#include "tests/simulation/program/memberships.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/credentials/process_secret.h"

namespace muster::simulation {

ProcessId ProcessOf(const v1::MemberIdentity& identity) {
  return static_cast<ProcessId>(identity.pid());
}

internal::Identity IdentityOf(const Setting& setting, ProcessId process, uint32_t place,
                              absl::Duration started) {
  internal::Identity identity;
  identity.secret = absl::StrFormat("secret of p %04d", process);
  identity.incarnation = IncarnationOf(identity.secret);
  identity.start_time_micros = absl::ToInt64Microseconds(started);
  identity.node_id = absl::StrCat("node ", place % setting.nodes);
  identity.hostname = absl::StrCat("host-", place % setting.nodes);
  identity.pid = process;
  return identity;
}

void Memberships::Entered(const Process& process, const v1::JoinResponse& place) {
  std::string roster;
  std::vector<ProcessId> processes;
  for (const v1::RosterEntry& entry : place.roster()) {
    absl::StrAppend(&roster, entry.ShortDebugString(), "\n");
    processes.push_back(ProcessOf(entry.member()));
  }
  if (place.rank() >= processes.size() || processes[place.rank()] != process.id()) {
    simulation_->Violation("process ", process.id(), " is told rank ", place.rank(),
                           ", where the roster has another: ", roster);
  }
  const uint64_t number = place.epoch().number();
  const auto [epoch, is_new] =
      epochs_.try_emplace(place.epoch().nonce(), Epoch{number, roster, processes, {}});
  if (epoch->second.roster != roster || epoch->second.number != number) {
    simulation_->Violation("process ", process.id(), " enters epoch ", number, " with the roster ",
                           roster, ", others with ", epoch->second.roster);
  }
  if (is_new) CheckRanks(place);
  uint64_t& latest = latest_of_[process.id()];
  if (number <= latest) {
    simulation_->Violation("process ", process.id(), " enters epoch ", number, " after ", latest);
  }
  latest = number;
}

void Memberships::Answered(DaemonId daemon, const absl::Status& status,
                           const internal::Response& response) {
  if (!status.ok()) return;
  if (const auto* join = std::get_if<v1::JoinResponse>(&response)) {
    CheckFormed(daemon, join->epoch());
  }
  if (const auto* rejoin = std::get_if<v1::RejoinResponse>(&response)) {
    CheckFormed(daemon, rejoin->epoch());
  }
}

// Called for each answer. The first one of an epoch is sent when the epoch forms.
void Memberships::CheckFormed(DaemonId daemon, const v1::EpochId& epoch) {
  if (!formed_.insert(epoch.nonce()).second) return;
  uint64_t& highest = highest_number_[setting_->numbers_are_known() ? 0 : daemon];
  if (epoch.number() <= highest) {
    simulation_->Violation("epoch ", epoch.number(), " is formed after ", highest);
  }
  highest = std::max(highest, epoch.number());
}

void Memberships::CheckRanks(const v1::JoinResponse& place) {
  bool survivors = false;
  uint32_t last = 0;
  for (const v1::RosterEntry& entry : place.roster()) {
    if (!entry.has_previous_rank()) continue;
    if (survivors && entry.previous_rank() <= last) {
      simulation_->Violation("survivors have changed their order: ", place.ShortDebugString());
    }
    last = entry.previous_rank();
    survivors = true;
  }
  if (survivors && !place.roster(0).has_previous_rank()) {
    simulation_->Violation("rank 0 is a newcomer, though there are survivors: ",
                           place.ShortDebugString());
  }
  const bool first = formed_.size() == 1;  // later epochs reassign places
  const bool ordered = setting_->rank_requests == Setting::RankRequests::kRanks ||
                       (first && setting_->rank_requests == Setting::RankRequests::kLocalRanks);
  if (!survivors && ordered) CheckRequestedRanks(place);
}

// Checks an epoch without survivors: its places are in the order that the processes ask for, each
// taken once.
void Memberships::CheckRequestedRanks(const v1::JoinResponse& place) {
  const auto order = [this](const v1::RosterEntry& entry) {
    const uint32_t at = places_.at(ProcessOf(entry.member()));
    if (setting_->rank_requests == Setting::RankRequests::kRanks) return std::pair(0u, at);
    return std::pair(at % setting_->nodes, at / setting_->nodes);
  };
  for (int rank = 0; rank < place.roster_size(); ++rank) {
    const auto asked = order(place.roster(rank));
    const bool after = rank == 0 || order(place.roster(rank - 1)) < asked;
    const bool exact = setting_->rank_requests != Setting::RankRequests::kRanks ||
                       setting_->elastic || asked.second == static_cast<uint32_t>(rank);
    if (after && exact) continue;
    simulation_->Violation("rank ", rank,
                           " is not that of who asks for it: ", place.ShortDebugString());
  }
}

ProcessId Memberships::ProcessAt(uint64_t epoch_nonce, uint32_t rank) const {
  return epochs_.at(epoch_nonce).processes.at(rank);
}

void Memberships::StopSeen(const Process& process, uint64_t epoch_nonce, uint64_t sequence,
                           bool stop) {
  std::map<uint64_t, bool>& stops = epochs_.at(epoch_nonce).stops;
  const auto [seen, is_new] = stops.try_emplace(sequence, stop);
  if (seen->second != stop) {
    simulation_->Violation("process ", process.id(), stop ? " sees" : " does not see",
                           " the stop at op ", sequence, " of the world, unlike others");
  }
  const auto next = std::next(seen);
  const bool undone = stop ? next != stops.end() && !next->second
                           : seen != stops.begin() && std::prev(seen)->second;
  if (is_new && undone)
    simulation_->Violation("a stop was seen before op ", sequence, " and not after");
}

}  // namespace muster::simulation
