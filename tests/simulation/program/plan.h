#ifndef MUSTER_TESTS_SIMULATION_PROGRAM_PLAN_H_
#define MUSTER_TESTS_SIMULATION_PROGRAM_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/src/protocol/messages/collective_call.h"
#include "muster/lease.h"
#include "tests/simulation/world/random.h"
#include "tests/simulation/world/setting.h"

namespace muster::simulation {

// One collective as all ranks of a group agree to call it.
struct CollectiveStep {
  internal::CollectiveKind kind = internal::CollectiveKind::kBarrier;
  int root = 0;
  std::string label;
  bool large = false;     // its answer exceeds the limit of a message
  bool overlong = false;  // all ranks first call it under a label that the daemon refuses
};

// The collectives of one group.
struct GroupPlan {
  uint64_t epoch_nonce = 0;
  std::string name;        // empty for the world
  std::vector<int> ranks;  // also given for the world
  std::vector<CollectiveStep> steps;
  // The rank at index `dissenter` makes another call than the others at this step.
  std::optional<size_t> dissent_at;
  size_t dissenter = 0;
};

struct LeaseStep {
  std::string name;
  LeaseScope scope = LeaseScope::kJob;
};

// The program of one epoch. The collectives of each group run concurrently with those of the other
// groups, and with the leased work. The plan follows from the seed and the epoch, so all ranks draw
// the same one.
struct EpochPlan {
  std::vector<GroupPlan> groups;
  std::vector<LeaseStep> leases;
  // This rank leaves after `early_leaver_steps` steps of each group.
  std::optional<int> early_leaver;
  size_t early_leaver_steps = 0;
};

// The limit of a message in schedules with large answers, and the size of one contribution to
// these.
inline constexpr size_t kMostMessageBytes = 4096;
inline constexpr size_t kLargeBytes = 3000;

EpochPlan DrawPlan(const Setting& setting, uint64_t epoch_nonce, int world_size);

// Returns the index of a world rank in the group, or nullopt if the rank is not in it.
std::optional<size_t> IndexOf(const GroupPlan& group, int rank);

// Returns the call that the rank at this index makes at a step. The payload names the sender, the
// group and the step.
internal::CollectiveCall CallOf(const GroupPlan& group, size_t step, size_t index);
// Returns the same call under a label that is longer than the daemon accepts.
internal::CollectiveCall OverlongCallOf(const GroupPlan& group, size_t step, size_t index);

// Returns the answer that the naive model gives to the rank at this index: the contributions in the
// group's order.
std::vector<std::string> ExpectedAnswer(const GroupPlan& group, size_t step, size_t index);

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_PROGRAM_PLAN_H_
