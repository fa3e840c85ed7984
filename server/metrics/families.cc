#include "server/metrics/families.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace muster::metrics {
namespace {

// Returns the shortest text that reads as the same number. Whole numbers have no exponent.
std::string NumberText(double value) {
  constexpr double kExactIntegers = 9007199254740992;  // 2^53
  if (std::trunc(value) == value && std::abs(value) < kExactIntegers) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  if (std::isnan(value)) return "NaN";
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string LabelText(const Labels& labels) {
  if (labels.empty()) return "";
  const auto append = [](std::string* out, const Labels::value_type& label) {
    const std::string value =
        absl::StrReplaceAll(label.second, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
    absl::StrAppend(out, label.first, "=\"", value, "\"");
  };
  return absl::StrCat("{", absl::StrJoin(labels, ",", append), "}");
}

}  // namespace

Family Gauges(std::string name, std::string help) {
  return {std::move(name), std::move(help), "gauge", {}};
}

Family Counters(std::string name, std::string help) {
  return {std::move(name), std::move(help), "counter", {}};
}

Family Histograms(std::string name, std::string help) {
  return {std::move(name), std::move(help), "histogram", {}};
}

void Add(Family* family, double value, const Labels& labels) {
  family->samples.push_back({"", labels, value});
}

void Add(Family* family, const core::WaitHistogram& waits, const Labels& labels) {
  uint64_t count = 0;
  const auto add_bucket = [&](std::string bound, uint64_t below) {
    Labels with_bound = labels;
    with_bound.emplace_back("le", std::move(bound));
    family->samples.push_back({"_bucket", std::move(with_bound), static_cast<double>(below)});
  };
  for (size_t i = 0; i < core::WaitHistogram::kBounds.size(); ++i) {
    count += waits.counts()[i];
    add_bucket(NumberText(core::WaitHistogram::kBounds[i]), count);
  }
  add_bucket("+Inf", waits.count());
  family->samples.push_back({"_sum", labels, waits.sum()});
  family->samples.push_back({"_count", labels, static_cast<double>(waits.count())});
}

Family Gauge(std::string name, std::string help, double value) {
  Family family = Gauges(std::move(name), std::move(help));
  Add(&family, value);
  return family;
}

Family Counter(std::string name, std::string help, double value) {
  Family family = Counters(std::move(name), std::move(help));
  Add(&family, value);
  return family;
}

std::string ToText(const Families& families) {
  std::string text;
  for (const Family& family : families) {
    const std::string help = absl::StrReplaceAll(family.help, {{"\\", "\\\\"}, {"\n", "\\n"}});
    absl::StrAppend(&text, "# HELP ", family.name, " ", help, "\n");
    absl::StrAppend(&text, "# TYPE ", family.name, " ", family.type, "\n");
    for (const Sample& sample : family.samples) {
      absl::StrAppend(&text, family.name, sample.suffix, LabelText(sample.labels), " ",
                      NumberText(sample.value), "\n");
    }
  }
  return text;
}

}  // namespace muster::metrics
