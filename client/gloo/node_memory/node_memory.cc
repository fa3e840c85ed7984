#include "client/gloo/node_memory/node_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::internal {

NodeMemory::NodeMemory(std::unique_ptr<SharedRegion> region, const std::vector<int>& ranks,
                       int index, Interrupter* interrupter, std::function<void()> periodic_check)
    : region_(std::move(region)),
      interrupter_(interrupter),
      periodic_check_(std::move(periodic_check)),
      ranks_(ranks),
      collectives_(
          region_->data(), index, static_cast<int>(ranks.size()),
          [this](bool slept) {
            if (slept) periodic_check_();
            return interrupter_->raised();
          },
          ranks) {
  collectives_.sequencer().set_before_throw(
      [this](const std::exception& error) { interrupter_->BeforeThrow(error); });
  interrupter_->Add(this);
}

NodeMemory::~NodeMemory() { interrupter_->Remove(this); }

std::vector<EndedPeer> NodeMemory::EndedPeers() {
  const StepSequencer& sequencer = collectives_.sequencer();
  std::vector<EndedPeer> ended;
  for (int index = 0; index < sequencer.ranks(); ++index) {
    if (index == sequencer.rank()) continue;
    std::optional<EndNotice> notice = sequencer.NoticeOf(index);
    if (notice) ended.push_back({ranks_[index], std::move(notice), ""});
  }
  return ended;
}

std::vector<int> NodeMemory::Notify(const EndNotice& notice, const std::vector<int>& ranks) {
  collectives_.sequencer().End(notice);
  std::vector<int> unnotified;
  for (const int rank : ranks) {
    if (!Reaches(rank)) unnotified.push_back(rank);
  }
  return unnotified;
}

// Returns whether `rank` reads this memory. A neighbour that is still creating its communicator
// does not yet.
bool NodeMemory::Reaches(int rank) {
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found != ranks_.end() &&
         collectives_.sequencer().HasOpened(static_cast<int>(found - ranks_.begin()));
}

}  // namespace muster::internal
