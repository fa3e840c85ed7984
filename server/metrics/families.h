#ifndef MUSTER_SERVER_METRICS_FAMILIES_H_
#define MUSTER_SERVER_METRICS_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include "server/core/counters.h"

namespace muster::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

// A line of the text: a histogram has several, with suffixes to the name.
struct Sample {
  std::string suffix;
  Labels labels;
  double value = 0;
};

// A metric with its values, one for each set of labels.
struct Family {
  std::string name;
  std::string help;
  std::string type;  // "gauge", "counter" or "histogram"
  std::vector<Sample> samples;
};

using Families = std::vector<Family>;

// A family without values yet.
Family Gauges(std::string name, std::string help);
Family Counters(std::string name, std::string help);
Family Histograms(std::string name, std::string help);

// Adds a value to a family of gauges or counters.
void Add(Family* family, double value, const Labels& labels = {});

// Adds a histogram to a family of them.
void Add(Family* family, const core::WaitHistogram& waits, const Labels& labels);

// A family of one value.
Family Gauge(std::string name, std::string help, double value);
Family Counter(std::string name, std::string help, double value);

// Returns the text that Prometheus reads, version 0.0.4 of its format.
std::string ToText(const Families& families);

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_FAMILIES_H_
