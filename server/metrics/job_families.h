#ifndef MUSTER_SERVER_METRICS_JOB_FAMILIES_H_
#define MUSTER_SERVER_METRICS_JOB_FAMILIES_H_

#include "server/core/api/options.h"
#include "server/core/reports/metrics.h"
#include "server/metrics/families.h"

namespace muster::metrics {

// Returns the metrics of a job and its coordinator. This folder turns numbers into families and
// serves nothing; server/daemon/pages.cc serves them at /metrics. Its tests are in
// tests/server/metrics. The families are the same whatever the job does. There are at most 1,500
// series.
Families JobFamilies(const core::Metrics& metrics, const core::Options& options);

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_JOB_FAMILIES_H_
