#include "server/metrics/families.h"

#include "prometheus/text_serializer.h"

namespace muster::metrics {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Family(std::string name, std::string help, MetricType type) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

// A new value of the family.
ClientMetric& Labelled(MetricFamily* family, const Labels& labels) {
  ClientMetric& metric = family->metric.emplace_back();
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  return metric;
}

}  // namespace

MetricFamily Gauges(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Gauge);
}

MetricFamily Counters(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Counter);
}

MetricFamily Histograms(std::string name, std::string help) {
  return Family(std::move(name), std::move(help), MetricType::Histogram);
}

void Add(MetricFamily* family, double value, const Labels& labels) {
  ClientMetric& metric = Labelled(family, labels);
  (family->type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

void Add(MetricFamily* family, const core::WaitHistogram& waits, const Labels& labels) {
  ClientMetric::Histogram& histogram = Labelled(family, labels).histogram;
  uint64_t count = 0;
  for (size_t i = 0; i < core::WaitHistogram::kBounds.size(); ++i) {
    count += waits.counts()[i];
    histogram.bucket.push_back({count, core::WaitHistogram::kBounds[i]});
  }
  histogram.sample_count = waits.count();
  histogram.sample_sum = waits.sum();
}

MetricFamily Gauge(std::string name, std::string help, double value) {
  MetricFamily family = Gauges(std::move(name), std::move(help));
  Add(&family, value);
  return family;
}

MetricFamily Counter(std::string name, std::string help, double value) {
  MetricFamily family = Counters(std::move(name), std::move(help));
  Add(&family, value);
  return family;
}

std::string ToText(const Families& families) {
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace muster::metrics
