// The formation of an epoch: who is in it, and what becomes of the previous one.

#include "server/core/formation/forming.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/api/describe.h"
#include "server/core/job/member_state.h"

namespace muster::core {

// Returns survivors in rank order, then newcomers in the order of arrival, as many as there are
// places.
std::vector<Member*> Forming::ChooseMembers() const {
  std::vector<Member*> chosen;
  uint32_t awaited = 0;
  if (epoch()) {
    for (Member* member : epoch()->members()) {
      if (HasRejoined(*member)) chosen.push_back(member);
      awaited += MayStillRejoin(*member);
    }
  }
  const size_t places = joining_.Places();
  if (places > 0 && chosen.size() > places) chosen.resize(places);
  for (const auto& [id, candidate] : joining_.places().candidates()) {
    if (places > 0 && chosen.size() + awaited >= places) break;
    Member* member = joining_.CandidateOf(id);
    if (!member->rank() && member->attached() && !joining_.places().Contends(id)) {
      chosen.push_back(member);
    }
  }
  return chosen;
}

// Returns the counts that ChooseMembers() would lead to, without a walk over all members. A
// newcomer that contends for another candidate's place has none.
FormationInput Forming::Candidates() const {
  const MemberTable::Counts& tally = members_.counts();
  FormationInput in;
  in.places = joining_.Places();
  in.minimum = job_.options.min_world_size;
  const uint32_t most = in.places > 0 ? in.places : std::numeric_limits<uint32_t>::max();
  in.survivors = std::min(static_cast<uint32_t>(tally.rejoined), most);
  in.awaited = static_cast<uint32_t>(tally.awaited);
  const uint32_t contenders = joining_.places().CountContenders([this](PlacementRequests::Id id) {
    const Member* const member = joining_.CandidateOf(id);
    return member->attached() && !member->rank();
  });
  const uint32_t newcomers = static_cast<uint32_t>(tally.newcomers) - contenders;
  in.newcomers = std::min(newcomers, most - std::min(most, in.survivors + in.awaited));
  if (epoch()) {
    in.previous_size = epoch()->size();
    in.previous_rank_0_came = HasRejoined(*epoch()->members().front());
  }
  in.settled = Settled();
  return in;
}

std::string Forming::FindWrongCounts() const {
  const auto kept = members_.counts().All();
  const auto right = members_.Recount().All();
  if (kept != right) {
    return absl::StrCat("members are counted as ", absl::StrJoin(kept, " "), ", and are ",
                        absl::StrJoin(right, " "));
  }
  if (!life_.forming()) return "";
  FormationInput in;
  for (const Member* member : ChooseMembers()) ++(member->rank() ? in.survivors : in.newcomers);
  if (epoch()) in.awaited = static_cast<uint32_t>(AwaitedRanks(*epoch()).size());
  const FormationInput counted = Candidates();
  if (in.survivors == counted.survivors && in.newcomers == counted.newcomers &&
      in.awaited == counted.awaited) {
    return "";
  }
  return absl::StrCat("survivors, newcomers and awaited are counted as ", counted.survivors, " ",
                      counted.newcomers, " ", counted.awaited, ", and are ", in.survivors, " ",
                      in.newcomers, " ", in.awaited);
}

Roster Forming::PlacesOf(const std::vector<Member*>& chosen) const {
  std::vector<Survivor> survivors;
  std::vector<Candidate> newcomers;
  for (const Member* member : chosen) {
    if (member->rank()) {
      survivors.push_back({member->identity, *member->rank()});
    } else {
      newcomers.push_back(joining_.places().candidates().at(member->arrival));
    }
  }
  return epoch() ? ReassignPlaces(survivors, newcomers, *epoch()->roster())
                 : AssignPlaces(newcomers);
}

std::optional<Forming::Choice> Forming::Choose() {
  const PlacementRequests& places = joining_.places();
  if (!life_.forming() || places.empty()) return std::nullopt;
  const bool full = places.size() >= joining_.Places();
  if (!job_.elastic() && !full) return std::nullopt;  // the usual case: some places are still empty
  const FormationDecision decision = Decide();
  if (!decision.unsettled) enough_since_.reset();
  if (decision.unsettled && !enough_since_) enough_since_ = job_.now;
  if (!decision.form) return std::nullopt;
  const std::vector<Member*> chosen = ChooseMembers();
  return Choice{chosen, absl::StrCat(decision.reason, DescribeGone(chosen)),
                TooManyReplacements(chosen)};
}

std::unique_ptr<Epoch> Forming::MakeEpoch(const std::vector<Member*>& chosen) {
  const uint64_t number = life_.NextEpochNumber();
  auto roster = std::make_shared<const Roster>(PlacesOf(chosen));
  std::vector<Member*> members;
  for (const RosterEntry& entry : *roster)
    members.push_back(members_.Find(entry.member.incarnation));
  return std::make_unique<Epoch>(EpochId{number, job_.options.random()}, std::move(roster),
                                 std::move(members), /*recovered=*/false, job_.options.limits,
                                 &job_.budget, &job_.tally);
}

std::unique_ptr<Epoch> Forming::Form(const Choice& choice) {
  const uint32_t size = static_cast<uint32_t>(choice.members.size());
  life_.NoteFormation(ReplacementsAmong(choice.members), size);
  ++job_.tally.counters.epochs_formed;
  std::unique_ptr<Epoch> previous = life_.Enter(MakeEpoch(choice.members));
  for (uint32_t rank = 0; rank < epoch()->size(); ++rank) {
    Member* member = epoch()->members()[rank];
    members_.SetRank(member, rank);
    member->last_collective.reset();
    member->sends_for_node = false;
    member->activity = Activity();
    member->contributions_requested.clear();
  }
  enough_since_.reset();
  return previous;
}

void Forming::Announce(const Choice& choice) {
  AnswerCandidates();
  LogFormed(choice.reason);
  CompareMembers();
}

void Forming::AnswerCandidates() {
  for (Member* member : epoch()->members()) {
    joining_.StopSeeking(member);
    calls_.Finish(calls_.parked().JoinOf(*member), absl::OkStatus(),
                  epoch()->PlaceOf(*member->rank(), life_.history()));
  }
  if (job_.elastic()) return;
  joining_.RefuseCandidates(absl::FailedPreconditionError(
      absl::StrCat("the job is full: all of its ", epoch()->size(),
                   " members have joined; another run needs a musterd of its own")));
}

std::string Forming::DescribeGone(const std::vector<Member*>& chosen) const {
  if (!epoch()) return "";
  const std::set<const Member*> stay(chosen.begin(), chosen.end());
  std::vector<uint32_t> gone;
  for (const Member* member : epoch()->members()) {
    if (stay.count(member) == 0) gone.push_back(*member->rank());
  }
  return gone.empty() ? "" : absl::StrCat("; gone since the previous epoch: ", Ranks(gone));
}

void Forming::LogFormed(const std::string& reason) {
  std::set<std::string> nodes;
  for (const Member* member : epoch()->members()) nodes.insert(member->identity.node_id);
  job_.Log(Severity::kInfo, absl::StrCat("epoch ", epoch()->id().number,
                                         " formed: ", epoch()->size(), " members on ", nodes.size(),
                                         nodes.size() == 1 ? " node: " : " nodes: ", reason));
}

void Forming::CompareMembers() {
  std::vector<FingerprintedMember> members;
  for (const Member* member : epoch()->members()) {
    FingerprintedMember entry{
        *member->rank(), member->identity.node_id, nullptr, member->clock_ahead, {}};
    if (member->fingerprint) {
      entry.facts = member->fingerprint->facts;
      entry.free_shared_memory = member->fingerprint->free_shared_memory;
    }
    members.push_back(std::move(entry));
  }
  std::vector<std::string> oddities = DescribeMismatches(members);
  for (const std::string& oddity : oddities) job_.Log(Severity::kWarning, oddity);
  epoch()->NoteOddities(std::move(oddities));
}

}  // namespace muster::core
