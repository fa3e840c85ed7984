#ifndef MUSTER_SERVER_METRICS_JOB_FAMILIES_H_
#define MUSTER_SERVER_METRICS_JOB_FAMILIES_H_

#include "server/core/metrics.h"
#include "server/core/options.h"
#include "server/metrics/families.h"

namespace muster::metrics {

// What the coordinator of a job with these options is like. The families are the same whatever the
// job does; of series there are 1,500 at most.
Families JobFamilies(const core::Metrics& metrics, const core::Options& options);

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_JOB_FAMILIES_H_
