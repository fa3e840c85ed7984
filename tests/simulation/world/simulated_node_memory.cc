#include "tests/simulation/world/simulated_node_memory.h"

namespace muster::simulation {

internal::SharedGroup NodeMemory::FindGroup(uint64_t name) {
  Group& group = groups_[name];
  while (group.members.size() < members_) group.members.push_back(std::make_unique<Memory>());
  internal::SharedGroup found;
  found.bell = &group.bell;
  found.commits = &group.commits;
  for (const auto& memory : group.members) {
    found.slots.push_back(
        {&memory->word, {memory->content, kContentWords}, {memory->result, kResultWords}});
  }
  return found;
}

std::shared_ptr<NodeMemory> NodeMemories::Get(uint64_t epoch_nonce, const std::string& node,
                                              uint32_t members) {
  std::shared_ptr<NodeMemory>& memory = memories_[{epoch_nonce, node}];
  if (memory == nullptr) memory = std::make_shared<NodeMemory>(members);
  return memory;
}

void NodeMemories::Wake(const internal::SlotFutex* bell) {
  const auto waiting = waiting_.extract(bell);
  if (waiting.empty()) return;
  for (const auto& [member, wake] : waiting.mapped()) wake();
}

}  // namespace muster::simulation
