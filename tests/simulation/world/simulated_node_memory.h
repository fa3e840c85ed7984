#ifndef MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NODE_MEMORY_H_
#define MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NODE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/src/node/fan_in_slots.h"

namespace muster::simulation {

// The memory that the members of one node share in one epoch. It replaces the SDK's NodeSegment.
class NodeMemory {
 public:
  explicit NodeMemory(uint32_t members) : members_(members) {}

  void Map(uint32_t member) { mapped_.insert(member); }
  bool Ready() const { return mapped_.size() == members_; }
  internal::SharedGroup FindGroup(uint64_t name);

 private:
  // Small areas, so that some contributions and results do not fit.
  static constexpr size_t kContentWords = 128;
  static constexpr size_t kResultWords = 512;
  struct Memory {
    internal::SlotFutex word{0};
    internal::SharedWord content[kContentWords] = {};
    internal::SharedWord result[kResultWords] = {};
  };

  struct Group {
    std::vector<std::unique_ptr<Memory>> members;
    internal::SlotFutex bell{0};
    internal::SharedWord commits{0};
  };

  const uint32_t members_;
  std::set<uint32_t> mapped_;
  std::map<uint64_t, Group> groups_;  // by name
};

// All node memories of a schedule, and the members that wait for a bell in them.
class NodeMemories {
 public:
  std::shared_ptr<NodeMemory> Get(uint64_t epoch_nonce, const std::string& node, uint32_t members);

  // Registers `wake`, which replaces an earlier one of the member.
  void AwaitWake(const internal::SlotFutex* bell, uint32_t member, std::function<void()> wake) {
    waiting_[bell][member] = std::move(wake);
  }
  void Wake(const internal::SlotFutex* bell);

 private:
  std::map<std::pair<uint64_t, std::string>, std::shared_ptr<NodeMemory>> memories_;
  std::map<const internal::SlotFutex*, std::map<uint32_t, std::function<void()>>> waiting_;
};

}  // namespace muster::simulation

#endif  // MUSTER_TESTS_SIMULATION_WORLD_SIMULATED_NODE_MEMORY_H_
