#include "server/core/metrics.h"

#include <algorithm>

#include "server/core/coordinator_impl.h"

namespace muster::core {

void Coordinator::Impl::MeasureCollectives(Time now, Metrics* metrics) const {
  for (const auto& [name, group] : epoch_->groups()) {
    if (!group->pending()) continue;
    ++metrics->pending_collectives;
    metrics->oldest_pending = std::max(metrics->oldest_pending, now - group->first_arrival());
  }
}

// Looks at each member once; everything else is known as a number.
Metrics Coordinator::Impl::Measure(Time now) const {
  Metrics metrics;
  metrics.state = State();
  metrics.world_size = WorldSize();
  metrics.newcomers_waiting = NewcomersWaitingNow();
  metrics.replacements = history_.replacements;
  metrics.stop_requested = stop_asked_;
  for (const auto& [incarnation, member] : members_.all()) {
    ++metrics.members[static_cast<size_t>(StateOf(*member))];
  }
  metrics.known_members = members_.size() + claims_.size();
  metrics.parked_calls = parked_.size();
  metrics.held_bytes = budget_.held();
  metrics.lease_names = leases_.all().size();
  metrics.leases_held = leases_.held();
  metrics.lease_waiters = leases_.waiting();
  metrics.counters = tally_.counters;
  metrics.collective_waits = tally_.collective_waits.All();
  if (!epoch_) return metrics;
  metrics.epoch = epoch_->id().number;
  metrics.stragglers = Stragglers();
  metrics.groups = epoch_->groups().size() + epoch_->closed_groups().size();
  MeasureCollectives(now, &metrics);
  return metrics;
}

}  // namespace muster::core
