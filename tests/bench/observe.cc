// Measures what metrics and a journal cost a program. Real ranks make barriers with a musterd that
// serves metrics and writes a journal, in turns with a musterd that does neither. Other load on the
// machine affects both alike, so compare the ratios.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/bench/common/median.h"
#include "tests/bench/contestants/contestant.h"

namespace muster::testing {
namespace {

struct Settings {
  std::vector<int> ranks = {64};
  int rounds = 20;
  int barriers = 200;  // of a round
};

// Two jobs of the same kind, with and without.
struct Pair {
  std::unique_ptr<Contestant> plain;
  std::unique_ptr<Contestant> observed;
};

struct Samples {
  std::vector<Sample> plain;
  std::vector<Sample> observed;
};

double MedianOf(const std::vector<Sample>& samples, double Sample::*what) {
  std::vector<double> values;
  for (const Sample& sample : samples) values.push_back(sample.*what);
  return testing::MedianOf(std::move(values));
}

absl::StatusOr<std::unique_ptr<Contestant>> StartJoined(Side side, int ranks, bool observed) {
  Contestant::Options options;
  options.observed = observed;
  auto job = Contestant::Start(side, {1, ranks}, options);
  if (!job.ok()) return job.status();
  if (const auto joined = (*job)->Join(); !joined.ok()) return joined.status();
  return job;
}

absl::Status Run(Contestant& job, int barriers, std::vector<Sample>* samples) {
  const auto sample = job.Run({"barrier", "barrier", 0}, barriers);
  if (!sample.ok()) return sample.status();
  samples->push_back(*sample);
  return absl::OkStatus();
}

// Runs both jobs in turns. Each is the first in every other round.
absl::StatusOr<Samples> Measure(const Settings& settings, const Pair& pair) {
  Samples warm_up;
  Samples samples;
  absl::Status s = Run(*pair.plain, settings.barriers, &warm_up.plain);
  if (s.ok()) s = Run(*pair.observed, settings.barriers, &warm_up.observed);
  for (int round = 0; s.ok() && round < settings.rounds; ++round) {
    if (round % 2 == 0) s = Run(*pair.plain, settings.barriers, &samples.plain);
    if (s.ok()) s = Run(*pair.observed, settings.barriers, &samples.observed);
    if (s.ok() && round % 2 == 1) s = Run(*pair.plain, settings.barriers, &samples.plain);
  }
  if (!s.ok()) return s;
  return samples;
}

void PrintRow(int ranks, Side side, const char* what, const Samples& samples,
              double Sample::*figure) {
  const double plain = MedianOf(samples.plain, figure);
  const double observed = MedianOf(samples.observed, figure);
  std::printf("| %d ranks, %s: %s | %.1f | %.1f | %.3f |\n", ranks,
              side == Side::kMusterByDaemon ? "of one node" : "each by itself", what, plain,
              observed, observed / plain);
}

absl::Status MeasureSide(const Settings& settings, int ranks, Side side) {
  auto plain = StartJoined(side, ranks, /*observed=*/false);
  if (!plain.ok()) return plain.status();
  auto observed = StartJoined(side, ranks, /*observed=*/true);
  if (!observed.ok()) return observed.status();
  const Pair pair{*std::move(plain), *std::move(observed)};
  const auto samples = Measure(settings, pair);
  if (!samples.ok()) return samples.status();
  PrintRow(ranks, side, "time of a barrier", *samples, &Sample::wall);
  PrintRow(ranks, side, "processor time of musterd for a rank", *samples, &Sample::service);
  if (const absl::Status left = pair.plain->Leave(); !left.ok()) return left;
  return pair.observed->Leave();
}

int Compare(const Settings& settings) {
  StopOnInterrupt();
  std::printf("| microseconds | without | with metrics and journal | ratio |\n|---|---|---|---|\n");
  for (const int ranks : settings.ranks) {
    for (const Side side : {Side::kMusterByDaemon, Side::kMusterApart}) {
      const absl::Status measured = MeasureSide(settings, ranks, side);
      if (measured.ok()) continue;
      std::fprintf(stderr, "observe: %s\n", measured.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Settings settings;
  CLI::App app(
      "What metrics and the journal cost a barrier: the same jobs with and without, in turns.",
      "observe");
  app.add_option("--ranks", settings.ranks, "Sizes of jobs")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  app.add_option("--rounds", settings.rounds, "Rounds of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--barriers", settings.barriers, "Barriers of a round")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  CLI11_PARSE(app, argc, argv);
  return muster::testing::Compare(settings);
}
