#include "tests/simulation/collective_checks.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::simulation {
namespace {

const v1::CollectiveContext* ContextOf(const v1::BarrierRequest& r) { return &r.context(); }
const v1::CollectiveContext* ContextOf(const v1::BroadcastRequest& r) { return &r.context(); }
const v1::CollectiveContext* ContextOf(const v1::GatherRequest& r) { return &r.context(); }
const v1::CollectiveContext* ContextOf(const v1::AllGatherRequest& r) { return &r.context(); }
template <typename Other>
const v1::CollectiveContext* ContextOf(const Other&) {
  return nullptr;
}

const v1::CollectiveContext* ContextOf(const Rpc& rpc) {
  const auto* request = std::get_if<internal::Request>(&rpc.request);
  if (request == nullptr) return nullptr;
  return std::visit([](const auto& r) { return ContextOf(r); }, *request);
}

std::string Words(const std::vector<std::string>& payloads) {
  return absl::StrCat("[", absl::StrJoin(payloads, ", "), "]");
}

}  // namespace

CollectiveChecks::Collective* CollectiveChecks::Find(const Rpc& rpc) {
  const v1::CollectiveContext* const context = ContextOf(rpc);
  if (context == nullptr) return nullptr;
  return &collectives_[{context->epoch().nonce(), context->group().name(), context->sequence()}];
}

void CollectiveChecks::Arrived(core::WaiterId waiter, const Rpc& rpc) {
  if (const auto* attach = std::get_if<v1::AttachRequest>(&rpc.request)) {
    for (const v1::GroupClaim& group : attach->claim().groups()) {
      uint64_t& next =
          claimed_[{rpc.process, attach->claim().epoch().nonce(), group.group().name()}];
      next = std::max(next, group.next_sequence());
    }
  }
  Collective* const collective = Find(rpc);
  if (collective == nullptr) return;
  collective->parked[waiter] = {rpc.process, rpc.daemon, rpc.attempt};
  // Calls name the ranks until one was answered.
  const v1::CollectiveContext& context = *ContextOf(rpc);
  if (context.group().ranks().empty()) return;
  ranks_[{context.epoch().nonce(), context.group().name()}] = {context.group().ranks().begin(),
                                                               context.group().ranks().end()};
}

void CollectiveChecks::Answered(core::WaiterId waiter, const Rpc& rpc, const absl::Status& status) {
  Collective* const collective = Find(rpc);
  if (collective == nullptr) return;
  const v1::CollectiveContext& context = *ContextOf(rpc);
  const Key key{context.epoch().nonce(), context.group().name(), context.sequence()};
  const bool completes = status.ok() && !HasClaimed(rpc.process, key);
  if (completes && !std::exchange(collective->complete, true)) {
    CheckAllPresent(key, rpc, *collective);
  }
  collective->parked.erase(waiter);
  if (!absl::IsDeadlineExceeded(status)) return;
  uint64_t& withdrawn = collective->withdrawn[{rpc.process, rpc.daemon}];
  withdrawn = std::max(withdrawn, rpc.attempt);
}

void CollectiveChecks::Withdrawn(core::WaiterId waiter, const Rpc& rpc) {
  Collective* const collective = Find(rpc);
  if (collective == nullptr) return;
  collective->parked.erase(waiter);
  if (rpc.duplicate) return;
  uint64_t& withdrawn = collective->withdrawn[{rpc.process, rpc.daemon}];
  withdrawn = std::max(withdrawn, rpc.attempt);
}

bool CollectiveChecks::HasClaimed(ProcessId process, const Key& key) const {
  const auto& [nonce, group, sequence] = key;
  const auto claimed = claimed_.find({process, nonce, group});
  return claimed != claimed_.end() && sequence < claimed->second;
}

// Called at the first answer: the calls that the same step answers next are still parked.
void CollectiveChecks::CheckAllPresent(const Key& key, const Rpc& rpc,
                                       const Collective& collective) {
  for (const uint32_t rank : RanksOf(std::get<0>(key), std::get<1>(key))) {
    const ProcessId process = memberships_->ProcessAt(std::get<0>(key), rank);
    if (IsPresent(collective, process, rpc.daemon) || HasClaimed(process, key)) continue;
    stage_->Violation("daemon ", rpc.daemon, " completes op ", std::get<2>(key), " of group '",
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
    stage_->Violation(where, " is answered ", Words(answer), " instead of ", Words(expected));
  }
  if (group.dissent_at && step >= *group.dissent_at) {
    stage_->Violation(where, " completes, though ranks disagree on step ", *group.dissent_at);
  }
  if (group.steps[step].large) stage_->Violation(where, " completes, though it is too large");
  MoveOn(process, group, step);
}

void CollectiveChecks::TooLarge(const Process& process, const GroupPlan& group, size_t step) {
  MoveOn(process, group, step);
}

void CollectiveChecks::MoveOn(const Process& process, const GroupPlan& group, size_t step) {
  size_t& next = next_step_[{process.id(), group.epoch_nonce, group.name}];
  if (next != step) {
    stage_->Violation("process ", process.id(), ": step ", step, " of group '", group.name,
                      "' ends after step ", next);
  }
  next = step + 1;
}

}  // namespace muster::simulation
