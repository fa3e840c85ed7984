#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "server/core/api/checkpoint.h"
#include "server/core/api/validation.h"
#include "server/core/coordinator_impl.h"

namespace muster::core {
namespace {

// Returns the claim of a member that knows all of the checkpoint, so that the checks of claims
// apply.
Claim ClaimOf(const Checkpoint& checkpoint) {
  Claim claim;
  claim.epoch = checkpoint.epoch;
  claim.highest_epoch = checkpoint.highest_epoch;
  claim.highest_token = checkpoint.highest_token;
  auto roster = std::make_shared<Roster>();
  for (const Checkpoint::Member& member : checkpoint.members) roster->push_back(member.place);
  claim.roster = std::move(roster);
  for (const Checkpoint::Lease& lease : checkpoint.leases) {
    const LeaseKey& key = lease.key;
    lease.result ? claim.completed.push_back({key.name, key.scope, *lease.result})
                 : claim.held.push_back({key.name, key.scope, lease.token, lease.request_id});
  }
  return claim;
}

absl::Status CheckSessions(const Checkpoint& checkpoint) {
  std::set<uint64_t> sessions = {0};
  std::set<WaiterId> streams = {0};
  for (const Checkpoint::Member& member : checkpoint.members) {
    const bool is_new =
        sessions.insert(member.session).second && streams.insert(member.stream).second;
    if (is_new && member.session <= checkpoint.last_session) continue;
    return absl::InvalidArgumentError("the checkpoint's sessions contradict each other");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Check(const Checkpoint& checkpoint, const Limits& limits, Time now) {
  if (checkpoint.members.empty()) {
    return absl::InvalidArgumentError("the checkpoint has no members");
  }
  const Claim claim = ClaimOf(checkpoint);
  const uint32_t size = static_cast<uint32_t>(checkpoint.members.size());
  absl::Status s = CheckClaim(checkpoint.members[0].place.member, claim, limits, now);
  if (s.ok()) s = CheckSessions(checkpoint);
  for (const Checkpoint::Group& group : checkpoint.groups) {
    Claim of_group;
    of_group.rank = group.name.ranks.empty() ? 0 : group.name.ranks.front();
    of_group.groups.push_back({group.name, group.next_sequence, group.finished});
    if (s.ok()) s = CheckClaimedGroups(of_group, size, limits);
    for (const std::vector<uint32_t>& ranks : {group.heard, group.released}) {
      for (const uint32_t rank : ranks) {
        const auto& known = group.name.ranks;
        if (std::find(known.begin(), known.end(), rank) != known.end()) continue;
        s.Update(absl::InvalidArgumentError("the checkpoint's groups contradict each other"));
      }
    }
  }
  Claim claimed;
  claimed.epoch = checkpoint.epoch;
  for (const Checkpoint::Claimed& group : checkpoint.claimed_groups) {
    if (group.rank >= size) {
      s.Update(absl::InvalidArgumentError(
          "the checkpoint claims a group for a rank that its epoch does not have"));
    }
    claimed.known_groups.push_back(group.group);
  }
  if (s.ok()) s = CheckClaim(checkpoint.members[0].place.member, claimed, limits, now);
  return s;
}

bool Coordinator::Impl::NothingIsUnderWay() const {
  const bool runs = life_.ReportedState() == JobState::kRunning && !epoch()->broken();
  if (job_.draining || !runs || !store_.unused()) return false;
  const MemberTable::Counts& tally = members_.counts();
  const bool all_here = members_.size() == epoch()->size() && tally.attached == epoch()->size();
  if (!all_here || tally.staying != epoch()->size()) return false;
  const bool nobody_waits = calls_.parked().size() == 0 && joining_.places().empty();
  if (!nobody_waits || !recovery_.claims().empty()) return false;
  if (epoch()->closed_groups().size() > 0) return false;
  const auto is_between = [](const auto& entry) { return entry.second->current().untouched(); };
  return std::all_of(epoch()->groups().begin(), epoch()->groups().end(), is_between);
}

std::optional<Checkpoint> Coordinator::Impl::MakeCheckpoint() const {
  if (!NothingIsUnderWay()) return std::nullopt;
  Checkpoint out;
  out.epoch = epoch()->id();
  out.highest_epoch = life_.highest_epoch();
  out.last_session = membership_.last_session();
  out.history = life_.history();
  out.stop_asked = life_.stop_asked();
  for (const Member* member : epoch()->members()) {
    const SessionId& session = member->session();
    out.members.push_back({(*epoch()->roster())[*member->rank()], session.counter, session.key,
                           member->stream(), member->attach_attempt, member->join_attempt,
                           member->cpus, member->commits_on_node});
  }
  groups_.MakeCheckpoint(&out);
  leases_.MakeCheckpoint(&out);
  return out;
}

void Coordinator::Impl::Restore(Time now, const Checkpoint& checkpoint) {
  job_.now = now;
  life_.Restore(checkpoint.highest_epoch, checkpoint.history);
  membership_.RestoreLastSession(checkpoint.last_session);
  RestoreEpoch(checkpoint);
  groups_.Restore(checkpoint);
  leases_.Restore(checkpoint);
  if (checkpoint.stop_asked) life_.AskStop();
  job_.out.Take();  // the members were told before the checkpoint was made
}

void Coordinator::Impl::RestoreEpoch(const Checkpoint& checkpoint) {
  auto roster = std::make_shared<Roster>();
  std::vector<Member*> members;
  for (const Checkpoint::Member& known : checkpoint.members) {
    Member* const member = members_.Add(known.place.member, job_.now);
    members_.SetRank(member, static_cast<uint32_t>(members.size()));
    members_.StartSession(member, {job_.options.instance, known.session, known.session_key},
                          known.stream);
    member->attach_attempt = known.attach_attempt;
    member->join_attempt = known.join_attempt;
    member->cpus = known.cpus;
    member->commits_on_node = known.commits_on_node;
    roster->push_back(known.place);
    members.push_back(member);
  }
  life_.Enter(std::make_unique<Epoch>(checkpoint.epoch, std::move(roster), std::move(members),
                                      /*recovered=*/true, job_.options.limits, &job_.budget,
                                      &job_.tally));
}

}  // namespace muster::core
