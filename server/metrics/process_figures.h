#ifndef MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_
#define MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_

#include "server/metrics/families.h"

namespace muster::metrics {

// Returns the resources that this process uses, under the names that Prometheus' client libraries
// give them. Leaves out what the system does not report.
Families ProcessFigures();

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_PROCESS_FIGURES_H_
