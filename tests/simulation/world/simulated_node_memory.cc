#include "tests/simulation/world/simulated_node_memory.h"

namespace muster::simulation {

std::vector<internal::SharedSlot> NodeMemory::GroupSlots(uint64_t name) {
  auto& group = groups_[name];
  while (group.size() < members_) group.push_back(std::make_unique<Memory>());
  std::vector<internal::SharedSlot> slots;
  for (const auto& memory : group) {
    slots.push_back(
        {&memory->word, {memory->content, kContentWords}, {memory->result, kResultWords}});
  }
  return slots;
}

std::shared_ptr<NodeMemory> NodeMemories::Get(uint64_t epoch_nonce, const std::string& node,
                                              uint32_t members) {
  std::shared_ptr<NodeMemory>& memory = memories_[{epoch_nonce, node}];
  if (memory == nullptr) memory = std::make_shared<NodeMemory>(members);
  return memory;
}

void NodeMemories::Wake(const internal::SlotFutex* word) {
  const auto waiting = waiting_.extract(word);
  if (!waiting.empty()) waiting.mapped()();
}

}  // namespace muster::simulation
