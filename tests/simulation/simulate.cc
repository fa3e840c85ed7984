// Simulates many schedules, or replays one:
//   simulate --count=100000            from --first (default 1)
//   simulate --seed=N                  prints that schedule as it unfolds
//   simulate --seed=N --without=0,2    the same without some of its faults
//   simulate --seed=N --node-fanin=0   the same, but ranks of a node do not arrive together
// Stops at the first schedule that breaks an invariant. Then removes every fault that the failure
// does not need, and prints what is left.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/simulation.h"

namespace muster::simulation {
namespace {

// Printed if the program crashes.
volatile uint64_t running_seed = 0;

void PrintSeed(int) {
  std::fprintf(stderr, "in --seed=%llu\n", static_cast<unsigned long long>(running_seed));
}

std::string ReplayFlags(const Options& options) {
  std::string flags = absl::StrCat("--seed=", options.seed);
  if (!options.without_faults.empty()) {
    absl::StrAppend(&flags, " --without=", absl::StrJoin(options.without_faults, ","));
  }
  return flags;
}

int Print(Options options) {
  options.verbose = true;
  const Result result = Simulate(options);
  std::fprintf(stderr, "%zu violations; replay with %s\n", result.violations.size(),
               ReplayFlags(options).c_str());
  return result.violations.empty() ? 0 : 1;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int RunMany(uint64_t first, uint64_t count) {
  std::signal(SIGABRT, PrintSeed);
  const auto start = std::chrono::steady_clock::now();
  uint64_t steps = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Options options;
    options.seed = running_seed = seed;
    const Result result = Simulate(options);
    steps += result.steps;
    if (result.violations.empty()) continue;
    const int status = Print(Shrink(options));
    std::fprintf(stderr, "found after %llu schedules, %.2f s\n",
                 static_cast<unsigned long long>(seed - first) + 1, SecondsSince(start));
    return status;
  }
  std::printf("%llu schedules, %llu events, %.1f s: every invariant held\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(steps),
              SecondsSince(start));
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Deterministic simulation of coordinator and members");
  uint64_t first = 1;
  uint64_t count = 10'000;
  uint64_t seed = 0;
  std::vector<size_t> without;
  std::optional<bool> node_fanin;
  std::optional<bool> node_commits;
  app.add_option("--first", first, "the first seed");
  app.add_option("--count", count, "how many schedules");
  app.add_option("--seed", seed, "prints this one schedule");
  app.add_option("--without", without, "numbers of faults to leave out")->delimiter(',');
  app.add_option("--node-fanin", node_fanin, "whether ranks of a node arrive together (1 or 0)");
  app.add_option("--node-commits", node_commits,
                 "whether collectives may complete on a node (1 or 0)");
  CLI11_PARSE(app, argc, argv);
  if (seed == 0) return RunMany(first, count);
  return Print({seed, true, {without.begin(), without.end()}, node_fanin, node_commits});
}

}  // namespace
}  // namespace muster::simulation

int main(int argc, char** argv) { return muster::simulation::Main(argc, argv); }
