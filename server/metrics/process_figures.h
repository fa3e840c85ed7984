#ifndef MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_
#define MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_

#include "server/metrics/families.h"

namespace muster::metrics {

// What this process takes of its machine, by the names that Prometheus' clients give it. What the
// system does not tell is left out.
Families ProcessFigures();

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_
