#include "client/gloo/node_memory.h"

namespace muster::internal {

NodeMemory::NodeMemory(std::unique_ptr<SharedRegion> region, const std::vector<int>& ranks,
                       int index, Interruptor* interruptor, std::function<void()> patrol)
    : region_(std::move(region)),
      interruptor_(interruptor),
      patrol_(std::move(patrol)),
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

}  // namespace muster::internal
