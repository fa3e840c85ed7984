#ifndef MUSTER_SERVER_METRICS_FAMILIES_H_
#define MUSTER_SERVER_METRICS_FAMILIES_H_

#include <string>
#include <utility>
#include <vector>

#include "server/core/statistics/counters.h"

namespace muster::metrics {

// The labels of a sample: pairs of name and value.
using Labels = std::vector<std::pair<std::string, std::string>>;

// A line of a family's values. A histogram has several, whose names have suffixes.
struct Sample {
  std::string suffix;
  Labels labels;
  double value = 0;
};

// A metric with its values, one for each set of labels. ToText() writes families as Prometheus
// reads them:
//
//   Family waiting = Gauges("muster_waiting", "Ranks that wait.");
//   Add(&waiting, 3, {{"node", "n1"}});
//   std::string text = ToText({waiting});
struct Family {
  std::string name;
  std::string help;
  std::string type;  // "gauge", "counter" or "histogram"
  std::vector<Sample> samples;
};

using Families = std::vector<Family>;

// Return a family without values.
Family Gauges(std::string name, std::string help);
Family Counters(std::string name, std::string help);
Family Histograms(std::string name, std::string help);

// Adds a value to a family of gauges or counters.
void Add(Family* family, double value, const Labels& labels = {});

// Adds a histogram to a family of histograms.
void Add(Family* family, const core::WaitHistogram& waits, const Labels& labels);

// Return a family with one value.
Family Gauge(std::string name, std::string help, double value);
Family Counter(std::string name, std::string help, double value);

// Returns the text in version 0.0.4 of Prometheus' format.
std::string ToText(const Families& families);

}  // namespace muster::metrics

#endif  // MUSTER_SERVER_METRICS_FAMILIES_H_
