// The status page: the coordinator's knowledge, in the words of its errors.

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/api/describe.h"
#include "server/core/job/member_state.h"
#include "server/core/reports/status_reporter.h"

namespace muster::core {
namespace {

constexpr size_t kMaxStragglers = 10;

// A visitor that describes the wait of a parked call.
struct WaitDescriber {
  const NodeNames& names;
  std::string operator()(const WaitForPlace& wait) const {
    return wait.rejoins ? "Rejoin" : "Join";
  }
  std::string operator()(const WaitForCollective& wait) const {
    return wait.group->OperationAt(wait.index, wait.sequence);
  }
  std::string operator()(const WaitForLease& wait) const {
    return DescribeLease(wait.key.name, wait.key.scope, wait.key.node_id, names);
  }
  std::string operator()(const WaitForLeavers&) const { return "Leave"; }
  std::string operator()(const WaitForRecovery&) const {
    return "a call deferred until the coordinator has recovered";
  }
};

std::vector<const Member*> InOrder(
    const Epoch* epoch, const absl::flat_hash_map<Incarnation, std::unique_ptr<Member>>& members) {
  std::vector<const Member*> order;
  if (epoch != nullptr) order.assign(epoch->members().begin(), epoch->members().end());
  std::map<uint64_t, const Member*> others;
  for (const auto& [incarnation, member] : members) {
    if (!member->rank()) others[member->arrival] = member.get();
  }
  for (const auto& [arrival, member] : others) order.push_back(member);
  return order;
}

}  // namespace

StatusReporter::StatusReporter(JobContext& job, const store::Store& store, const Lifecycle& life,
                               const MemberTable& members, const Calls& calls, const Leases& leases,
                               const Joining& joining, const Forming& forming,
                               const Recovery& recovery)
    : job_(job),
      store_(store),
      life_(life),
      members_(members),
      calls_(calls),
      leases_(leases),
      joining_(joining),
      forming_(forming),
      recovery_(recovery) {}

std::string StatusReporter::DescribeState() const {
  if (life_.recovering()) return recovery_.DescribeAwaited();
  if (life_.state() == JobState::kForming) return forming_.Decide().reason;
  if (life_.state() != JobState::kReforming) return life_.reason();
  return absl::StrCat(life_.reason(), "; the next epoch: ", forming_.Decide().reason);
}

MemberStatus StatusReporter::StatusOf(const Member& member, Time now) const {
  MemberStatus status{member.identity,
                      member.rank(),
                      0,
                      0,
                      StateOf(member),
                      member.last_collective ? *member.last_collective : "",
                      "",
                      {},
                      now - member.last_call,
                      member.activity.Describe(now),
                      member.activity,
                      member.cpus};
  if (std::optional<store::Store::Wait> wait = store_.WaitOf(member.incarnation())) {
    status.missing_in_store = std::move(wait->missing);
    status.in_store_for = now - wait->since;
  }
  if (member.rank()) {
    const RosterEntry& place = (*epoch()->roster())[*member.rank()];
    status.local_rank = place.local_rank;
    status.node_rank = place.node_rank;
  }
  if (const std::vector<WaiterId> parked = calls_.parked().CallsOf(member); !parked.empty()) {
    const ParkedCall& call = *calls_.parked().Find(parked.front());
    status.waiting_in = std::visit(WaitDescriber{members_.node_names()}, call.wait);
    status.waiting_for = now - call.since;
  }
  return status;
}

LeaseStatus StatusReporter::StatusOf(const LeaseKey& key, const LeaseTable::Lease& lease,
                                     Time now) const {
  LeaseStatus status{key.name,
                     key.scope,
                     key.node_id,
                     {},
                     {},
                     0,
                     lease.result.has_value(),
                     static_cast<uint32_t>(lease.queue.size()),
                     {}};
  if (lease.result) status.token = lease.result->token;
  if (lease.holder) {
    if (const Member* holder = members_.Find(lease.holder->request.member); holder != nullptr) {
      status.holder = holder->identity;
      status.holder_rank = holder->rank();
    }
    status.token = lease.holder->token;
    status.held_for = now - lease.holder->since;
  }
  return status;
}

std::vector<PendingCollective> StatusReporter::PendingCollectives(Time now) const {
  std::vector<PendingCollective> pending;
  if (!epoch()) return pending;
  for (const auto& [key, group] : epoch()->groups()) {
    const CurrentCollective& current = group->current();
    if (!current.pending()) continue;
    Absentees absent = current.Absent();
    pending.push_back({group->name(), current.sequence(), current.PendingOperation(),
                       current.Arrived(), std::move(absent.missing), std::move(absent.gave_up),
                       now - current.first_arrival(), now - current.last_arrival()});
  }
  return pending;
}

std::vector<std::string> StatusReporter::NodesWithFanIn() const {
  std::set<std::string> nodes;
  if (!epoch()) return {};
  for (const Member* member : epoch()->members()) {
    if (member->sends_for_node) nodes.insert(member->identity.node_id);
  }
  return {nodes.begin(), nodes.end()};
}

std::vector<Straggler> StatusReporter::Stragglers() const {
  std::vector<Straggler> stragglers = epoch()->lateness().Worst(kMaxStragglers);
  for (Straggler& straggler : stragglers) {
    straggler.node_id = epoch()->members()[straggler.rank]->identity.node_id;
  }
  return stragglers;
}

std::vector<StoreWaiters> StatusReporter::StoreWaits(Time now) const {
  return store_.Waits(now, [this](const Incarnation& process) {
    const Member* const member = members_.Find(process);
    return member == nullptr ? std::nullopt : member->rank();
  });
}

JobStatus StatusReporter::GetBriefStatus(Time now, const std::vector<Incarnation>& members) const {
  JobStatus status;
  status.state = life_.ReportedState();
  status.reason = life_.recovering() ? "" : life_.reason();
  status.world_size = joining_.WorldSize();
  if (epoch()) status.epoch = epoch()->id();
  for (const Incarnation& incarnation : members) {
    const Member* member = members_.Find(incarnation);
    if (member != nullptr) status.members.push_back(StatusOf(*member, now));
  }
  return status;
}

JobStatus StatusReporter::GetStatus(Time now, bool with_completed_leases) const {
  JobStatus status;
  status.state = life_.ReportedState();
  status.reason = DescribeState();
  status.world_size = joining_.WorldSize();
  if (epoch()) status.epoch = epoch()->id();
  for (const Member* member : InOrder(epoch(), members_.all())) {
    status.members.push_back(StatusOf(*member, now));
  }
  status.pending = PendingCollectives(now);
  for (const auto& [key, lease] : leases_.table().all()) {
    if (lease.result && !with_completed_leases) continue;
    status.leases.push_back(StatusOf(key, lease, now));
  }
  status.recent_failures.assign(life_.failures().begin(), life_.failures().end());
  if (job_.elastic()) {
    status.min_world_size = job_.options.min_world_size;
    status.max_world_size = joining_.Places();
  }
  status.newcomers_waiting = joining_.NewcomersWaiting();
  status.stop_requested = life_.stop_asked();
  status.store_waits = StoreWaits(now);
  status.node_collective_nodes = NodesWithFanIn();
  if (!epoch()) return status;
  status.oddities = epoch()->oddities();
  for (const auto& [key, group] : epoch()->groups()) {
    const std::string& text = group->finished_text();
    if (!text.empty()) status.finished_groups.push_back(text);
  }
  status.stragglers = Stragglers();
  return status;
}

void StatusReporter::Inquire(const std::string& reason) {
  if (job_.out.inquires()) return;
  const auto& wants_inquiry = job_.options.wants_inquiry;
  if (wants_inquiry && !wants_inquiry(job_.now, life_.ReportedState())) return;
  job_.out.Inquire({reason, std::make_shared<const JobStatus>(
                                GetStatus(job_.now, /*with_completed_leases=*/false))});
}

}  // namespace muster::core
