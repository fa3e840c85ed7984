#include "tests/bench/race.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "tests/bench/common/address_layout.h"
#include "tests/bench/common/callers_folder.h"

namespace muster::testing {
namespace {

constexpr int kMinOperations = 3;  // operations of a round
constexpr int kMaxOperations = 500;

// Jobs of one size, one for each side.
class Contest {
 public:
  Contest(const Race& race, const Shape& shape) : race_(race), shape_(shape) {
    comparisons_.push_back({shape, "join", "ms", 1000, {}});
    for (const Operation& operation : race_.operations) {
      comparisons_.push_back({shape, operation.title, "us", 1, {}});
    }
  }

  absl::StatusOr<std::vector<Comparison>> Measure() {
    if (race_.network) {
      auto network = SimulatedNetwork::Create(shape_.nodes, absl::Microseconds(race_.latency_us));
      if (!network.ok()) return network.status();
      network_ = *std::move(network);
    }
    for (int join = 0; join < race_.joins; ++join) {
      std::fprintf(stderr, "%s: %s ranks, jobs %d of %d: start", race_.name.c_str(),
                   TextOf(shape_).c_str(), join + 1, race_.joins);
      const absl::Status done = MeasureJobs();
      std::fprintf(stderr, "\n");
      if (!done.ok()) return done;
    }
    return std::move(comparisons_);
  }

 private:
  absl::Status MeasureJobs() {
    jobs_.clear();
    Contestant::Options options;
    options.network = network_.get();
    for (const Side side : race_.sides) {
      if (NeedsPeers(side) && !race_.peers) continue;
      if (!IsInstalled(side)) continue;
      auto job = Contestant::Start(side, shape_, options);
      if (!job.ok()) return job.status();
      jobs_.emplace_back(side, *std::move(job));
    }
    if (const absl::Status joined = Join(); !joined.ok()) return joined;
    for (size_t i = 0; i < race_.operations.size(); ++i) {
      std::fprintf(stderr, ", %s", race_.operations[i].title.c_str());
      const absl::Status run = RunRounds(race_.operations[i], &comparisons_[i + 1]);
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
      const double fitting = race_.round_ms * 1e3 / std::max(first->wall, 1.0);
      counts[side] = std::clamp(static_cast<int>(fitting), kMinOperations, kMaxOperations);
    }
    for (int round = 0; round < race_.rounds; ++round) {
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

  const Race& race_;
  const Shape shape_;
  std::unique_ptr<SimulatedNetwork> network_;  // outlives the jobs
  std::vector<std::pair<Side, std::unique_ptr<Contestant>>> jobs_;
  std::vector<Comparison> comparisons_;
};

int Fail(const Race& race, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", race.name.c_str(), what.c_str());
  return 1;
}

int Compare(const Race& race) {
  StopOnInterrupt();
  std::vector<Comparison> all;
  for (const Shape& shape : race.shapes) {
    auto compared = Contest(race, shape).Measure();
    if (!compared.ok()) return Fail(race, compared.status().ToString());
    all.insert(all.end(), compared->begin(), compared->end());
    if (!race.json.empty() && !WriteJson(all, race.json)) {
      return Fail(race, "cannot write " + race.json);
    }
  }
  PrintTables(all, race.tables);
  return 0;
}

// Gives all processes of all sides the same layout of addresses, unless told otherwise.
void FixAddresses(const Race& race, char** argv) {
  if (!race.random_addresses) RestartWithFixedAddresses(argv);
  if (race.random_addresses || HasFixedAddresses()) return;
  std::fprintf(
      stderr,
      "%s: this machine does not let processes have fixed addresses, so the peers have an "
      "advantage: their ranks are forks with one layout. Run this outside of containers.\n",
      race.name.c_str());
}

void AddShapes(Race* race, CLI::App* app) {
  if (!race->network) {
    app->add_option("--ranks", race->shapes, "Sizes of jobs")
        ->capture_default_str()
        ->check(CLI::Range(2, 1024));
    return;
  }
  app->add_option("--nodes", race->shapes, "Sizes of jobs: nodes x ranks of each")
      ->capture_default_str();
  app->add_option("--latency-us", race->latency_us,
                  "How long a packet takes from one node to another, in microseconds")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
}

}  // namespace

int RunRace(Race* race, const std::string& description, int argc, char** argv) {
  CLI::App app(description, race->name);
  AddShapes(race, &app);
  app.add_option("--joins", race->joins, "Jobs of each side and size, for the time to join")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", race->rounds, "Rounds of each operation in each of these jobs")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--round-ms", race->round_ms, "About how long a round takes, in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 60000));
  app.add_option("--json", race->json, "File that gets every sample");
  app.add_flag("!--without-peers", race->peers, "Leave out the sides that tools/peers brings");
  app.add_flag(
      "--random-addresses", race->random_addresses,
      "Let Linux give each program a random layout of addresses. This slows down the sides "
      "whose ranks are programs of their own: Muster and bare gRPC");
  CLI11_PARSE(app, argc, argv);
  FixAddresses(*race, argv);
  race->json = ResolveFromCaller(race->json);
  return Compare(*race);
}

}  // namespace muster::testing
