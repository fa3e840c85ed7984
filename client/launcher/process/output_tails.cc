#include "client/launcher/process/output_tails.h"

namespace muster::launcher {

void OutputTails::Add(const std::string& owner, absl::string_view chunk) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string& tail = tails_[owner];
  tail.append(chunk.data(), chunk.size());
  if (tail.size() > 2 * kMaxBytes) tail.erase(0, tail.size() - kMaxBytes - 1);
}

std::string OutputTails::TailOf(const std::string& owner) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto tail = tails_.find(owner);
  return tail == tails_.end() ? "" : tail->second;
}

}  // namespace muster::launcher
