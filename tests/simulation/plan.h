#ifndef MUSTER_TESTS_SIMULATION_PLAN_H_
#define MUSTER_TESTS_SIMULATION_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/src/protocol/collective_call.h"
#include "muster/lease.h"
#include "tests/simulation/random.h"
#include "tests/simulation/setting.h"

namespace muster::simulation {

// One collective as all ranks of a group agree to call it.
struct CollectiveStep {
  internal::CollectiveKind kind = internal::CollectiveKind::kBarrier;
  int root = 0;
  std::string label;
  bool large = false;     // its answer is larger than a message may be
  bool overlong = false;  // all call it first under a label that the daemon refuses
};

// One group's collectives.
struct GroupPlan {
  uint64_t epoch_nonce = 0;
  std::string name;        // empty for the world
  std::vector<int> ranks;  // of the world too
  std::vector<CollectiveStep> steps;
  // The rank at this index calls something else at this step.
  std::optional<size_t> dissent_at;
  size_t dissenter = 0;
};

struct LeaseStep {
  std::string name;
  LeaseScope scope = LeaseScope::kJob;
};

// What the ranks of one epoch do: each group's collectives at the same time as the others', and
// beside them the leased work. All ranks draw the same plan, since it follows from seed and epoch.
struct EpochPlan {
  std::vector<GroupPlan> groups;
  std::vector<LeaseStep> leases;
  // This rank leaves after that many steps of each group.
  std::optional<int> early_leaver;
  size_t early_leaver_steps = 0;
};

// Most bytes of a message where there are large answers, and of one contribution to those.
inline constexpr size_t kMostMessageBytes = 4096;
inline constexpr size_t kLargeBytes = 3000;

EpochPlan DrawPlan(const Setting& setting, uint64_t epoch_nonce, int world_size);

// The index of a world rank in the group; nullopt if it is not in it.
std::optional<size_t> IndexOf(const GroupPlan& group, int rank);

// What the rank at this index calls at a step. Who sends it, where and when can be read from its
// payload.
internal::CollectiveCall CallOf(const GroupPlan& group, size_t step, size_t index);
// The same under a label that is longer than the daemon takes.
internal::CollectiveCall OverlongCallOf(const GroupPlan& group, size_t step, size_t index);

// What a collective must answer the rank at this index with, by the naive model: the contributions
// in the group's order.
std::vector<std::string> ExpectedAnswer(const GroupPlan& group, size_t step, size_t index);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PLAN_H_
