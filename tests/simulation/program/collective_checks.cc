#include "tests/simulation/program/collective_checks.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/names/group_digest.h"
#include "tests/simulation/program/passing_group_task.h"
#include "tests/simulation/world/collective_context.h"

namespace muster::simulation {
namespace {

const v1::CollectiveContext* ContextOf(const SentRpc& rpc) {
  const auto* request = std::get_if<internal::Request>(&rpc.request);
  if (request == nullptr) return nullptr;
  return std::visit([](const auto& r) { return CollectiveContextOf(r); }, *request);
}

template <class R>
const R* RequestIn(const SentRpc& rpc) {
  const auto* const request = std::get_if<internal::Request>(&rpc.request);
  return request == nullptr ? nullptr : std::get_if<R>(request);
}

std::string Describe(const std::vector<std::string>& payloads) {
  return absl::StrCat("[", absl::StrJoin(payloads, ", "), "]");
}

}  // namespace

CollectiveChecks::Key CollectiveChecks::KeyOf(const SentRpc& rpc) const {
  const v1::CollectiveContext& context = *ContextOf(rpc);
  return {context.epoch().nonce(), context.group().name(), context.sequence()};
}

CollectiveChecks::Collective* CollectiveChecks::Find(const SentRpc& rpc) {
  const v1::CollectiveContext* const context = ContextOf(rpc);
  // PassingGroupTask checks these groups itself: in them, one sequence number names several
  // collectives.
  if (context == nullptr || IsPassing(context->group().name())) return nullptr;
  return &collectives_[KeyOf(rpc)];
}

void CollectiveChecks::TakeClaims(const SentRpc& rpc) {
  const auto* const attach = std::get_if<v1::AttachRequest>(&rpc.request);
  if (attach == nullptr) return;
  for (const v1::GroupClaim& group : attach->claim().groups()) {
    uint64_t& next = claimed_[{rpc.process, attach->claim().epoch().nonce(), group.group().name()}];
    next = std::max(next, group.next_sequence());
  }
  for (const v1::KnownGroup& group : attach->claim().known_groups()) {
    const auto name = names_.find(group.digest());
    if (name == names_.end()) continue;
    uint64_t& next = claimed_[{rpc.process, attach->claim().epoch().nonce(), name->second}];
    next = std::max(next, group.next_sequence());
  }
}

void CollectiveChecks::Registered(const SentRpc& rpc, const v1::SessionId& session) {
  sessions_[{rpc.daemon, session.counter()}] = rpc.process;
  streams_[{rpc.daemon, rpc.process}] = rpc.attempt;
  EndParts(rpc.process, rpc.daemon);
}

// Notes which collectives have completed, as reported or proven by the next arrival: on the node, a
// collective completes without the daemon.
void CollectiveChecks::TakeProofs(const SentRpc& rpc) {
  constexpr uint64_t kNonsense = 1'000'000;  // of a hostile member
  const auto note = [&](const v1::EpochId& epoch, const std::string& group, uint64_t next) {
    uint64_t& proven = proven_[{epoch.nonce(), group}];
    if (next < kNonsense) proven = std::max(proven, next);
  };
  if (const auto* const report = RequestIn<v1::ReportCommitsRequest>(rpc)) {
    for (const v1::GroupCommits& group : report->groups()) {
      for (const v1::NodeCommit& commit : group.commits()) {
        note(report->epoch(), group.group().name(), commit.sequence() + 1);
      }
    }
  }
  const v1::CollectiveContext* const context = ContextOf(rpc);
  if (context != nullptr) note(context->epoch(), context->group().name(), context->sequence());
}

bool CollectiveChecks::IsProven(const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  const auto proven = proven_.find({nonce, group});
  return proven != proven_.end() && sequence < proven->second;
}

void CollectiveChecks::Arrived(core::WaiterId waiter, const SentRpc& rpc) {
  TakeClaims(rpc);
  TakeProofs(rpc);
  Collective* const collective = Find(rpc);
  if (collective == nullptr) return;
  Park(waiter, rpc, collective);
  // The first call of a group lists its ranks, until one call is answered.
  const v1::CollectiveContext& context = *ContextOf(rpc);
  if (context.group().ranks().empty()) return;
  std::vector<uint32_t> ranks(context.group().ranks().begin(), context.group().ranks().end());
  names_[GroupDigest(context.group().name(), ranks)] = context.group().name();
  ranks_[{context.epoch().nonce(), context.group().name()}] = std::move(ranks);
}

void CollectiveChecks::Park(core::WaiterId waiter, const SentRpc& rpc, Collective* collective) {
  const auto* const together = RequestIn<v1::NodeCollectiveRequest>(rpc);
  if (together == nullptr) {
    collective->parked[{waiter, -1}] = {rpc.process, rpc.daemon, rpc.attempt, simulation_->now()};
    return;
  }
  for (int i = 0; i < together->parts_size(); ++i) {
    const v1::NodeArrival& part = together->parts(i);
    const auto process = sessions_.find({rpc.daemon, part.session().counter()});
    if (process == sessions_.end()) continue;
    collective->parked[{waiter, i}] = {process->second, rpc.daemon, part.attempt(),
                                       simulation_->now()};
  }
}

void CollectiveChecks::Answered(core::WaiterId waiter, const SentRpc& rpc,
                                const absl::Status& status, const internal::Response& response) {
  if (const auto* const withdraw = RequestIn<v1::WithdrawArrivalRequest>(rpc)) {
    const Key key{withdraw->epoch().nonce(), withdraw->group().name(), withdraw->sequence()};
    if (status.ok()) Withdraw(rpc, rpc.attempt - 1, &collectives_[key]);
  }
  Collective* const collective = Find(rpc);
  if (collective == nullptr) return;
  const Key key = KeyOf(rpc);
  const auto* const together = std::get_if<v1::NodeCollectiveResponse>(&response);
  const bool completed = status.ok() && (together == nullptr || together->completed_size() > 0);
  const bool completes = completed && !HasClaimed(rpc.process, key) && !IsProven(key);
  if (completes && !std::exchange(collective->complete, true)) {
    CheckAllPresent(key, rpc.daemon, *collective);
  }
  if (RequestIn<v1::NodeCollectiveRequest>(rpc) != nullptr) {
    return PartsAnswered(waiter, rpc, completed, collective);
  }
  collective->parked.erase({waiter, -1});
  if (absl::IsDeadlineExceeded(status)) Withdraw(rpc, rpc.attempt, collective);
}

// If no part has completed, the parts that were refused on arrival end. The others stay parked.
void CollectiveChecks::PartsAnswered(core::WaiterId waiter, const SentRpc& rpc, bool completed,
                                     Collective* collective) {
  const int parts = RequestIn<v1::NodeCollectiveRequest>(rpc)->parts_size();
  for (int i = 0; i < parts; ++i) {
    const auto part = collective->parked.find({waiter, i});
    if (part == collective->parked.end()) continue;
    if (completed || part->second.since == simulation_->now()) collective->parked.erase(part);
  }
}

void CollectiveChecks::Withdrawn(core::WaiterId waiter, const SentRpc& rpc) {
  const auto stream = streams_.find({rpc.daemon, rpc.process});
  if (rpc.is_stream() && stream != streams_.end() && stream->second == rpc.attempt) {
    EndParts(rpc.process, rpc.daemon);
  }
  Collective* const collective = Find(rpc);
  // When a call for several members ends, the arrivals of its parts stay.
  if (collective == nullptr || RequestIn<v1::NodeCollectiveRequest>(rpc) != nullptr) return;
  collective->parked.erase({waiter, -1});
  if (!rpc.duplicate) Withdraw(rpc, rpc.attempt, collective);
}

void CollectiveChecks::Withdraw(const SentRpc& rpc, uint64_t up_to, Collective* collective) {
  uint64_t& withdrawn = collective->withdrawn[{rpc.process, rpc.daemon}];
  withdrawn = std::max(withdrawn, up_to);
}

void CollectiveChecks::EndParts(ProcessId process, DaemonId daemon) {
  for (auto& [key, collective] : collectives_) {
    for (auto next = collective.parked.begin(); next != collective.parked.end();) {
      const auto parked = next++;
      const bool is_part = parked->first.second >= 0;
      if (is_part && parked->second.process == process && parked->second.daemon == daemon) {
        collective.parked.erase(parked);
      }
    }
  }
}

bool CollectiveChecks::HasClaimed(ProcessId process, const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  const auto claimed = claimed_.find({process, nonce, group});
  return claimed != claimed_.end() && sequence < claimed->second;
}

// Called at the first answer. The calls that the same step answers next are still parked.
void CollectiveChecks::CheckAllPresent(const Key& key, DaemonId daemon,
                                       const Collective& collective) {
  for (const uint32_t rank : RanksOf(std::get<0>(key), std::get<1>(key))) {
    const ProcessId process = memberships_->ProcessAt(std::get<0>(key), rank);
    if (IsPresent(collective, process, daemon) || HasClaimed(process, key)) continue;
    simulation_->Violation("daemon ", daemon, " completes op ", std::get<2>(key), " of group '",
                           std::get<1>(key), "' without rank ", rank, ", process ", process);
  }
}

std::vector<uint32_t> CollectiveChecks::RanksOf(uint64_t epoch_nonce, const std::string& group) {
  if (!group.empty()) return ranks_.at({epoch_nonce, group});
  std::vector<uint32_t> world(memberships_->SizeOf(epoch_nonce));
  std::iota(world.begin(), world.end(), 0u);
  return world;
}

bool CollectiveChecks::IsPresent(const Collective& collective, ProcessId process, DaemonId daemon) {
  const auto withdrawn = collective.withdrawn.find({process, daemon});
  const uint64_t least = withdrawn == collective.withdrawn.end() ? 0 : withdrawn->second + 1;
  return std::any_of(collective.parked.begin(), collective.parked.end(), [&](const auto& entry) {
    const Parked& parked = entry.second;
    return parked.process == process && parked.daemon == daemon && parked.attempt >= least;
  });
}

void CollectiveChecks::Completed(const Process& process, const GroupPlan& group, size_t step,
                                 size_t index, const std::vector<std::string>& answer) {
  const std::string where =
      absl::StrCat("process ", process.id(), ": step ", step, " of group '", group.name, "'");
  const std::vector<std::string> expected = ExpectedAnswer(group, step, index);
  if (answer != expected) {
    simulation_->Violation(where, " is answered ", Describe(answer), " instead of ",
                           Describe(expected));
  }
  if (group.dissent_at && step >= *group.dissent_at) {
    simulation_->Violation(where, " completes, though ranks disagree on step ", *group.dissent_at);
  }
  if (group.steps[step].large) simulation_->Violation(where, " completes, though it is too large");
  MoveOn(process, group, step);
}

void CollectiveChecks::TooLarge(const Process& process, const GroupPlan& group, size_t step) {
  MoveOn(process, group, step);
}

void CollectiveChecks::MoveOn(const Process& process, const GroupPlan& group, size_t step) {
  size_t& next = next_step_[{process.id(), group.epoch_nonce, group.name}];
  if (next != step) {
    simulation_->Violation("process ", process.id(), ": step ", step, " of group '", group.name,
                           "' ends after step ", next);
  }
  next = step + 1;
}

}  // namespace muster::simulation
