#ifndef MUSTER_SERVER_METRICS_FAMILIES_H_
#define MUSTER_SERVER_METRICS_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include "prometheus/metric_family.h"
#include "server/core/counters.h"

namespace muster::metrics {

using Families = std::vector<prometheus::MetricFamily>;
using Labels = std::vector<std::pair<std::string, std::string>>;

// A family without values yet.
prometheus::MetricFamily Gauges(std::string name, std::string help);
prometheus::MetricFamily Counters(std::string name, std::string help);
prometheus::MetricFamily Histograms(std::string name, std::string help);

// Adds a value to a family of gauges or counters.
void Add(prometheus::MetricFamily* family, double value, const Labels& labels = {});

// Adds a histogram to a family of them.
void Add(prometheus::MetricFamily* family, const core::WaitHistogram& waits, const Labels& labels);

// A family of one value.
prometheus::MetricFamily Gauge(std::string name, std::string help, double value);
prometheus::MetricFamily Counter(std::string name, std::string help, double value);

// The text that Prometheus reads, version 0.0.4.
std::string ToText(const Families& families);

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_FAMILIES_H_
