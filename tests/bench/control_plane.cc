// Measures what programs pay for the control plane. Real processes use the public SDK with a real
// musterd, on one shared node or as if each had its own node. They take turns with the floor
// (blocking gRPC calls to a bare service that parks them), and with PyTorch's TCPStore and JAX's
// coordination service if tools/peers has installed these. All processes of all sides have the same
// layout of addresses. Other load on the machine affects all of them alike, so compare the ratios.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "tests/bench/common/address_layout.h"
#include "tests/bench/common/callers_folder.h"
#include "tests/bench/contestants/contestant.h"
#include "tests/bench/control_plane_report.h"

namespace muster::testing {
namespace {

struct Settings {
  std::vector<int> ranks = {2, 8, 32, 64};
  int joins = 3;
  int rounds = 5;
  int round_ms = 200;
  bool peers = true;
  bool random_addresses = false;
  std::string json;
};

constexpr int kMinOperations = 3;  // operations of a round
constexpr int kMaxOperations = 500;

const std::vector<Operation>& Operations() {
  static const auto* const operations =
      new std::vector<Operation>{{"barrier", "barrier", 0},
                                 {"broadcast of 128 bytes", "broadcast", 128},
                                 {"broadcast of 1 MiB", "broadcast", 1 << 20},
                                 {"all-gather of 1 KiB", "all-gather", 1 << 10},
                                 {"lease", "lease", 128}};
  return *operations;
}

// Jobs of one size, one for each side.
class Contest {
 public:
  Contest(const Settings& settings, int ranks) : settings_(settings), ranks_(ranks) {
    comparisons_.push_back({ranks, "join", "ms", 1000, {}});
    for (const Operation& operation : Operations()) {
      comparisons_.push_back({ranks, operation.title, "us", 1, {}});
    }
  }

  absl::StatusOr<std::vector<Comparison>> Measure() {
    for (int join = 0; join < settings_.joins; ++join) {
      std::fprintf(stderr, "control_plane: %d ranks, jobs %d of %d: start", ranks_, join + 1,
                   settings_.joins);
      const absl::Status done = MeasureJobs();
      std::fprintf(stderr, "\n");
      if (!done.ok()) return done;
    }
    return std::move(comparisons_);
  }

 private:
  absl::Status MeasureJobs() {
    jobs_.clear();
    for (const Side side : kSides) {
      if (!IsMuster(side) && side != Side::kBare && !settings_.peers) continue;
      if (!IsInstalled(side)) continue;
      auto job = Contestant::Start(side, ranks_);
      if (!job.ok()) return job.status();
      jobs_.emplace_back(side, *std::move(job));
    }
    if (const absl::Status joined = Join(); !joined.ok()) return joined;
    for (size_t i = 0; i < Operations().size(); ++i) {
      std::fprintf(stderr, ", %s", Operations()[i].title.c_str());
      const absl::Status run = RunRounds(Operations()[i], &comparisons_[i + 1]);
      if (!run.ok()) return run;
    }
    return Leave();
  }

  absl::Status Join() {
    for (auto& [side, job] : jobs_) {
      const absl::StatusOr<Sample> sample = job->Join();
      if (!sample.ok()) return sample.status();
      comparisons_[0].samples[side].push_back(*sample);
    }
    return absl::OkStatus();
  }

  // Runs all sides in turns. Each is the first equally often.
  absl::Status RunRounds(const Operation& operation, Comparison* comparison) {
    std::map<Side, int> counts;
    for (auto& [side, job] : jobs_) {
      const absl::StatusOr<Sample> first = job->Run(operation, kMinOperations);  // warms up
      if (!first.ok()) return first.status();
      const double fitting = settings_.round_ms * 1e3 / std::max(first->wall, 1.0);
      counts[side] = std::clamp(static_cast<int>(fitting), kMinOperations, kMaxOperations);
    }
    for (int round = 0; round < settings_.rounds; ++round) {
      for (auto& [side, job] : jobs_) {
        const absl::StatusOr<Sample> sample = job->Run(operation, counts[side]);
        if (!sample.ok()) return sample.status();
        comparison->samples[side].push_back(*sample);
      }
      std::rotate(jobs_.begin(), jobs_.begin() + 1, jobs_.end());
    }
    return absl::OkStatus();
  }

  absl::Status Leave() {
    for (auto& [side, job] : jobs_) {
      if (const absl::Status left = job->Leave(); !left.ok()) return left;
    }
    return absl::OkStatus();
  }

  const Settings& settings_;
  const int ranks_;
  std::vector<std::pair<Side, std::unique_ptr<Contestant>>> jobs_;
  std::vector<Comparison> comparisons_;
};

int Fail(const std::string& what) {
  std::fprintf(stderr, "control_plane: %s\n", what.c_str());
  return 1;
}

int Compare(const Settings& settings) {
  StopOnInterrupt();
  std::vector<Comparison> all;
  for (const int ranks : settings.ranks) {
    auto compared = Contest(settings, ranks).Measure();
    if (!compared.ok()) return Fail(compared.status().ToString());
    all.insert(all.end(), compared->begin(), compared->end());
    if (!settings.json.empty() && !WriteJson(all, settings.json)) {
      return Fail("cannot write " + settings.json);
    }
  }
  PrintTables(all);
  return 0;
}

// Gives all processes of all sides the same layout of addresses, unless told otherwise.
void FixAddresses(const Settings& settings, char** argv) {
  if (!settings.random_addresses) RestartWithFixedAddresses(argv);
  if (settings.random_addresses || HasFixedAddresses()) return;
  std::fprintf(stderr,
               "control_plane: this machine does not let processes have fixed addresses, so the "
               "peers have an advantage: their ranks are forks with one layout. Run this outside "
               "of containers.\n");
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Settings settings;
  CLI::App app(
      "Muster's control plane beside bare gRPC, PyTorch's TCPStore and JAX's service: real "
      "processes, in turns. tools/peers brings the last two. All processes have the same layout of "
      "addresses, whether they are forks or programs of their own.",
      "control_plane");
  app.add_option("--ranks", settings.ranks, "Sizes of jobs")
      ->capture_default_str()
      ->check(CLI::Range(2, 1024));
  app.add_option("--joins", settings.joins, "Jobs of each side and size, for the time to join")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", settings.rounds, "Rounds of each operation in each of these jobs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--round-ms", settings.round_ms, "About how long a round takes, in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 60000));
  app.add_option("--json", settings.json, "File that gets every sample");
  app.add_flag("!--without-peers", settings.peers, "Leave TCPStore and JAX out");
  app.add_flag(
      "--random-addresses", settings.random_addresses,
      "Let Linux give each program a random layout of addresses. This slows down the sides "
      "whose ranks are programs of their own: Muster and bare gRPC");
  CLI11_PARSE(app, argc, argv);
  muster::testing::FixAddresses(settings, argv);
  settings.json = muster::testing::ResolveFromCaller(settings.json);
  return muster::testing::Compare(settings);
}
