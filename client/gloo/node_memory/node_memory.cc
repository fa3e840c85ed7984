#include "client/gloo/node_memory/node_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::internal {

NodeMemory::NodeMemory(std::unique_ptr<SharedRegion> region, const std::vector<int>& ranks,
                       int index, Interruptor* interruptor, std::function<void()> patrol)
    : region_(std::move(region)),
      interruptor_(interruptor),
      patrol_(std::move(patrol)),
      ranks_(ranks),
      collectives_(
          region_->data(), index, static_cast<int>(ranks.size()),
          [this](bool slept) {
            if (slept) patrol_();
            return interruptor_->raised();
          },
          ranks) {
  interruptor_->Add(this);
}

NodeMemory::~NodeMemory() { interruptor_->Remove(this); }

std::vector<EndedPeer> NodeMemory::EndedPeers() {
  const StepBoard& board = collectives_.board();
  std::vector<EndedPeer> ended;
  for (int index = 0; index < board.ranks(); ++index) {
    if (index == board.rank()) continue;
    std::optional<PeerEnd> words = board.WordsOf(index);
    if (words) ended.push_back({ranks_[index], std::move(words)});
  }
  return ended;
}

std::vector<int> NodeMemory::Tell(const PeerEnd& words, const std::vector<int>& ranks) {
  collectives_.board().End(words);
  std::vector<int> untold;
  for (const int rank : ranks) {
    if (!Reaches(rank)) untold.push_back(rank);
  }
  return untold;
}

// Returns whether `rank` reads this memory. A neighbour that is still creating its communicator
// does not yet.
bool NodeMemory::Reaches(int rank) {
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found != ranks_.end() &&
         collectives_.board().IsHere(static_cast<int>(found - ranks_.begin()));
}

}  // namespace muster::internal
