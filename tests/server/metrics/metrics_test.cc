// The metrics of a coordinator, as Prometheus gets them.
#include "server/core/reports/metrics.h"

#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/core/api/options.h"
#include "server/metrics/families.h"
#include "server/metrics/job_families.h"
#include "server/metrics/process_figures.h"

namespace muster::metrics {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

core::Options Elastic() {
  core::Options options;
  options.job_id = "train \"42\"";
  options.min_world_size = 2;
  return options;
}

std::string TextOf(const core::Metrics& metrics) { return ToText(JobFamilies(metrics, Elastic())); }

TEST(FamiliesTest, TextAndNumbersAreWrittenAsPrometheusReadsThem) {
  Family family = Gauges("name", "a \\ and\na line");
  Add(&family, 0.1, {{"a", "\\ \" \n"}, {"b", ""}});
  for (double value : {1e5, -3.0, 123456789012345678.0, 1.0 / 3, 1e300}) Add(&family, value);
  Add(&family, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(ToText({family, Counters("none", "no values")}),
            "# HELP name a \\\\ and\\na line\n"
            "# TYPE name gauge\n"
            "name{a=\"\\\\ \\\" \\n\",b=\"\"} 0.1\n"
            "name 100000\n"
            "name -3\n"
            "name 123456789012345680\n"
            "name 0.3333333333333333\n"
            "name 1e+300\n"
            "name NaN\n"
            "# HELP none no values\n"
            "# TYPE none counter\n");
}

TEST(JobFamiliesTest, AJobHasItsNameAndItsState) {
  core::Metrics metrics;
  metrics.state = core::JobState::kReforming;
  metrics.epoch = 1'763'849'000'000'001;
  metrics.members[static_cast<size_t>(core::MemberState::kLost)] = 3;
  EXPECT_THAT(
      TextOf(metrics),
      AllOf(HasSubstr("\nmuster_job_info{job_id=\"train \\\"42\\\"\",elastic=\"true\"} 1\n"),
            HasSubstr("\nmuster_job_state{state=\"reforming\"} 1\n"),
            HasSubstr("\nmuster_job_state{state=\"running\"} 0\n"),
            HasSubstr("\nmuster_epoch_number 1763849000000001\n"),
            HasSubstr("\nmuster_members{state=\"lost\"} 3\n")));
}

TEST(JobFamiliesTest, WhatIsHeldStandsBesideItsLimit) {
  core::Metrics metrics;
  metrics.held_bytes = 5;
  EXPECT_THAT(TextOf(metrics), AllOf(HasSubstr("\nmuster_held_bytes 5\n"),
                                     HasSubstr("\nmuster_held_bytes_limit 4294967296\n"),
                                     HasSubstr("\nmuster_parked_calls_limit 65536\n")));
}

TEST(JobFamiliesTest, BucketsOfAHistogramAddUp) {
  core::Metrics metrics;
  core::CollectiveWaits waits;
  waits.kind = core::CollectiveKind::kAllGather;
  waits.group = "tp-#";
  waits.label = "step #";
  waits.waits.Add(absl::Milliseconds(20));
  waits.waits.Add(absl::Seconds(4));
  waits.waits.Add(absl::Hours(1));
  metrics.collective_waits = {waits, {}};
  const std::string labels = "kind=\"all_gather\",group=\"tp-#\",label=\"step #\"";
  const std::string name = "\nmuster_collective_wait_seconds";
  EXPECT_THAT(TextOf(metrics), AllOf(HasSubstr(name + "_bucket{" + labels + ",le=\"0.01\"} 0\n"),
                                     HasSubstr(name + "_bucket{" + labels + ",le=\"0.025\"} 1\n"),
                                     HasSubstr(name + "_bucket{" + labels + ",le=\"300\"} 2\n"),
                                     HasSubstr(name + "_bucket{" + labels + ",le=\"+Inf\"} 3\n"),
                                     HasSubstr(name + "_count{" + labels + "} 3\n"),
                                     HasSubstr(name + "_sum{" + labels + "} 3604.02\n")));
  EXPECT_THAT(TextOf(metrics), HasSubstr("{kind=\"other\",group=\"\",label=\"\",le=\"+Inf\"} 0\n"));
}

TEST(JobFamiliesTest, AStragglerIsNamed) {
  core::Metrics metrics;
  metrics.stragglers = {{5, "n2", "Barrier('step #') of the world", 4000, 3000,
                         absl::Milliseconds(120), absl::Milliseconds(310), absl::Seconds(38)}};
  const std::string labels =
      "{rank=\"5\",node=\"n2\",operation=\"Barrier('step #') of the world\"}";
  EXPECT_THAT(TextOf(metrics),
              AllOf(HasSubstr("\nmuster_straggler_last_ratio" + labels + " 0.75\n"),
                    HasSubstr("\nmuster_straggler_median_lateness_seconds" + labels + " 0.12\n"),
                    HasSubstr("\nmuster_straggler_p95_lateness_seconds" + labels + " 0.31\n"),
                    HasSubstr("\nmuster_straggler_waited_seconds" + labels + " 38\n")));
}

TEST(JobFamiliesTest, FamiliesAreTheSameWhateverTheJobDoes) {
  core::Metrics busy;
  busy.stragglers.resize(10);
  busy.collective_waits.resize(65);
  const auto names = [](const core::Metrics& metrics) {
    std::set<std::string> names;
    for (const auto& family : JobFamilies(metrics, Elastic())) names.insert(family.name);
    return names;
  };
  EXPECT_EQ(names({}), names(busy));
}

TEST(JobFamiliesTest, ThereAreNoMoreSeriesThanDocumented) {
  core::Metrics busy;
  busy.stragglers.resize(10);
  busy.collective_waits.resize(core::CollectiveWaitsTable::kMost + 1);
  size_t lines = 0;
  std::istringstream text(TextOf(busy));
  for (std::string line; std::getline(text, line);) lines += line[0] != '#';
  EXPECT_LE(lines, 1500u);
}

TEST(ProcessFiguresTest, AreThoseOfThisProcess) {
  EXPECT_THAT(ToText(ProcessFigures()),
              AllOf(HasSubstr("\nprocess_threads 1\n"), HasSubstr("\nprocess_open_fds "),
                    Not(HasSubstr("process_resident_memory_bytes 0\n"))));
}

}  // namespace
}  // namespace muster::metrics
