#include "server/core/formation/expected_processes.h"

namespace muster::core {

void ExpectedProcesses::Add(const Incarnation& process, size_t most) {
  if (orders_.size() >= most || !orders_.emplace(process, came_).second) return;
  in_order_.emplace(came_++, process);
}

void ExpectedProcesses::Remove(const Incarnation& process) {
  const auto found = orders_.find(process);
  if (found == orders_.end()) return;
  in_order_.erase(found->second);
  orders_.erase(found);
}

void ExpectedProcesses::Clear() {
  in_order_.clear();
  orders_.clear();
}

bool ExpectedProcesses::MayGiveUp(const Incarnation& process, size_t places) const {
  if (in_order_.size() < places) return true;
  auto it = in_order_.begin();
  for (size_t i = 0; i < places; ++i, ++it) {
    if (it->second == process) return true;
  }
  return false;
}

}  // namespace muster::core
