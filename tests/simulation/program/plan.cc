#include "tests/simulation/program/plan.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/core/api/options.h"

namespace muster::simulation {
namespace {

using internal::CollectiveCall;
using internal::CollectiveKind;

bool Contributes(const CollectiveStep& step, size_t index) {
  switch (step.kind) {
    case CollectiveKind::kBarrier:
      return false;
    case CollectiveKind::kBroadcast:
      return static_cast<size_t>(step.root) == index;
    case CollectiveKind::kGather:
    case CollectiveKind::kAllGather:
      return true;
  }
  return false;
}

std::string Payload(const GroupPlan& group, size_t step, size_t index) {
  if (!Contributes(group.steps[step], index)) return "";
  return absl::StrCat(absl::Hex(group.epoch_nonce), "/", group.name, "/", step, "/rank ",
                      group.ranks[index],
                      std::string(group.steps[step].large ? kLargeBytes : 0, '.'));
}

std::vector<int> SomeRanks(int world_size, Random& random) {
  std::vector<int> ranks(world_size);
  std::iota(ranks.begin(), ranks.end(), 0);
  for (size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random.Pick(i)]);
  ranks.resize(1 + random.Pick(world_size));
  return ranks;
}

GroupPlan DrawGroup(uint64_t epoch_nonce, std::string name, std::vector<int> ranks,
                    const Setting& setting, Random& random) {
  GroupPlan group;
  group.epoch_nonce = epoch_nonce;
  group.name = std::move(name);
  group.ranks = std::move(ranks);
  const size_t steps = 3 + random.Pick(8);
  Random overlong(setting.seed ^ epoch_nonce, absl::StrCat("overlong labels of ", group.name));
  for (size_t i = 0; i < steps; ++i) {
    CollectiveStep step;
    step.kind = static_cast<CollectiveKind>(random.Pick(4));
    if (step.kind == CollectiveKind::kBroadcast || step.kind == CollectiveKind::kGather) {
      step.root = static_cast<int>(random.Pick(group.ranks.size()));
    }
    step.label = absl::StrCat("step ", i);
    const bool gathers =
        step.kind == CollectiveKind::kGather || step.kind == CollectiveKind::kAllGather;
    step.large = setting.large_answers && gathers && group.ranks.size() > 1 && random.Chance(0.3);
    step.overlong = setting.overlong_labels && overlong.Chance(0.3);
    group.steps.push_back(std::move(step));
  }
  if (setting.mismatches && group.ranks.size() > 1 && random.Chance(0.5)) {
    group.dissent_at = random.Pick(steps);
    group.dissenter = random.Pick(group.ranks.size());
    // If the step were refused because it is too large, the disagreement would not show.
    group.steps[*group.dissent_at].large = false;
  }
  return group;
}

}  // namespace

EpochPlan DrawPlan(const Setting& setting, uint64_t epoch_nonce, int world_size) {
  Random random(setting.seed ^ epoch_nonce, "plan");
  EpochPlan plan;
  std::vector<int> world(world_size);
  std::iota(world.begin(), world.end(), 0);
  plan.groups.push_back(DrawGroup(epoch_nonce, "", std::move(world), setting, random));
  const uint32_t groups = random.Pick(3);
  for (uint32_t i = 0; i < groups; ++i) {
    plan.groups.push_back(DrawGroup(epoch_nonce, absl::StrCat("group ", i),
                                    SomeRanks(world_size, random), setting, random));
  }
  // Leases belong to the job, so their names are the same in every epoch.
  Random leases(setting.seed, "leases");
  const uint32_t count = setting.many_leases ? 8 + leases.Pick(12) : leases.Pick(4);
  for (uint32_t i = 0; i < count; ++i) {
    const LeaseScope scope = leases.Pick(2) == 0 ? LeaseScope::kJob : LeaseScope::kNode;
    plan.leases.push_back({absl::StrCat("work ", i), scope});
  }
  if (setting.early_leave) {
    plan.early_leaver = static_cast<int>(random.Pick(world_size));
    plan.early_leaver_steps = random.Pick(4);
  }
  return plan;
}

std::optional<size_t> IndexOf(const GroupPlan& group, int rank) {
  const auto it = std::find(group.ranks.begin(), group.ranks.end(), rank);
  if (it == group.ranks.end()) return std::nullopt;
  return it - group.ranks.begin();
}

CollectiveCall CallOf(const GroupPlan& group, size_t step, size_t index) {
  const CollectiveStep& agreed = group.steps[step];
  CollectiveCall call;
  call.kind = agreed.kind;
  call.root = agreed.root;
  call.label = agreed.label;
  call.payload = Payload(group, step, index);
  if (group.dissent_at == step && group.dissenter == index) {
    absl::StrAppend(&call.label, " of another program");
  }
  return call;
}

CollectiveCall OverlongCallOf(const GroupPlan& group, size_t step, size_t index) {
  CollectiveCall call = CallOf(group, step, index);
  call.label.resize(core::Limits().max_name_bytes + 1, '.');
  return call;
}

std::vector<std::string> ExpectedAnswer(const GroupPlan& group, size_t step, size_t index) {
  const CollectiveStep& agreed = group.steps[step];
  if (agreed.kind == CollectiveKind::kBarrier) return {};
  if (agreed.kind == CollectiveKind::kBroadcast) return {Payload(group, step, agreed.root)};
  if (agreed.kind == CollectiveKind::kGather && static_cast<size_t>(agreed.root) != index) {
    return {};
  }
  std::vector<std::string> payloads;
  for (size_t i = 0; i < group.ranks.size(); ++i) payloads.push_back(Payload(group, step, i));
  return payloads;
}

}  // namespace muster::simulation
