#include <algorithm>

#include "server/core/job/member_state.h"
#include "server/core/reports/status_reporter.h"

namespace muster::core {

void StatusReporter::MeasureCollectives(Time now, Metrics* metrics) const {
  for (const auto& [name, group] : epoch()->groups()) {
    if (!group->current().pending()) continue;
    ++metrics->pending_collectives;
    metrics->oldest_pending =
        std::max(metrics->oldest_pending, now - group->current().first_arrival());
  }
}

// Looks at each member once. All else is counted already, or small.
Metrics StatusReporter::Measure(Time now) const {
  Metrics metrics;
  metrics.state = life_.ReportedState();
  metrics.world_size = joining_.WorldSize();
  metrics.newcomers_waiting = joining_.NewcomersWaiting();
  metrics.replacements = life_.history().replacements;
  metrics.stop_requested = life_.stop_asked();
  for (const auto& [incarnation, member] : members_.all()) {
    ++metrics.members[static_cast<size_t>(StateOf(*member))];
  }
  metrics.known_members = members_.size() + recovery_.claims().size();
  metrics.parked_calls = calls_.parked().size();
  metrics.held_bytes = job_.budget.held();
  metrics.lease_names = leases_.table().all().size();
  metrics.leases_held = leases_.table().held();
  metrics.lease_waiters = leases_.table().waiting();
  metrics.counters = job_.tally.counters;
  metrics.collective_waits = job_.tally.collective_waits.All();
  if (!epoch()) return metrics;
  metrics.epoch = epoch()->id().number;
  metrics.stragglers = Stragglers();
  metrics.groups = epoch()->groups().size() + epoch()->closed_groups().size();
  MeasureCollectives(now, &metrics);
  return metrics;
}

}  // namespace muster::core
