// Measures collectives on CPU memory between the ranks of one machine. Real processes use the
// public SDK, through shared memory and through connections (MUSTER_GLOO_SHARED_MEMORY=0). They
// take turns with bare Gloo, and with Open MPI over shared memory if Debian's openmpi-bin and
// libopenmpi-dev are installed. For several nodes, MUSTER_NODE_ID divides the ranks, and the
// loopback or a simulated network connects them. Open MPI has no such setting, so it does not take
// part. Other load on the machine affects all of them alike, so compare the ratios.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tests/bench/common/callers_folder.h"
#include "tests/bench/common/markdown_table.h"
#include "tests/bench/common/median.h"
#include "tests/bench/common/rank_processes.h"
#include "tests/bench/common/shape.h"
#include "tests/bench/common/simulated_network.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

enum class Side { kShared, kConnections, kGloo, kOpenMpi };
constexpr Side kSides[] = {Side::kShared, Side::kConnections, Side::kGloo, Side::kOpenMpi};
constexpr const char* kNames[] = {"shared", "connections", "gloo", "open_mpi"};
constexpr const char* kTitles[] = {"Muster", "without shared memory", "bare Gloo", "Open MPI"};

const char* NameOf(Side side) { return kNames[static_cast<int>(side)]; }
const char* TitleOf(Side side) { return kTitles[static_cast<int>(side)]; }

struct Settings {
  std::vector<Shape> shapes = {{1, 2}, {1, 4}, {1, 8}, {2, 4}, {2, 8}};
  int latency_us = -1;  // of the simulated network, or -1 for the loopback
  std::vector<size_t> bytes = {64 << 10, 1 << 20, 16 << 20};
  std::vector<std::string> operations = {"all-reduce", "broadcast", "all-gather"};
  int rounds = 9;
  int round_ms = 100;
  bool open_mpi = true;
  std::string json;
};

// One operation of one size: its microseconds in each round, as the median rank has them.
struct Comparison {
  Shape shape;
  std::string operation;
  size_t bytes = 0;
  std::map<Side, std::vector<double>> micros;
};

// ---- The ranks of one side ----

bool HasOpenMpi() {
  return std::system("command -v mpicc > /dev/null && command -v mpirun > /dev/null") == 0;
}

class Contestant {
 public:
  // `network`: null for the loopback. Outlives the contestant.
  static absl::StatusOr<std::unique_ptr<Contestant>> Start(Side side, const Shape& shape,
                                                           const SimulatedNetwork* network) {
    std::unique_ptr<Contestant> contestant(new Contestant(side, shape, network));
    const absl::Status started =
        side == Side::kOpenMpi ? contestant->StartOpenMpi() : contestant->StartRanks();
    if (!started.ok()) return started;
    if (const auto up = contestant->rank_processes_.Await("up"); !up.ok()) return up.status();
    return contestant;
  }

  // Returns the microseconds of one of `count` operations.
  absl::StatusOr<double> Run(const Comparison& what, int count) {
    rank_processes_.Send(absl::StrCat("run ", what.operation, " ", what.bytes, " ", count));
    const auto answers = rank_processes_.Await("ran");
    if (!answers.ok()) return answers.status();
    std::vector<double> walls;
    for (const RankProcesses::Numbers& answer : *answers) {
      walls.push_back(static_cast<double>(answer.at(0)) / 1e3 / count);
    }
    return MedianOf(std::move(walls));
  }

  absl::Status Leave() {
    rank_processes_.Send("leave");
    return rank_processes_.Await("left").status();
  }

 private:
  Contestant(Side side, const Shape& shape, const SimulatedNetwork* network)
      : side_(side),
        shape_(shape),
        network_(network),
        rank_processes_(TitleOf(side), shape.ranks) {}

  absl::Status StartRanks() {
    std::string coordinator;
    if (side_ != Side::kGloo) {
      const SimulatedNetwork::Visit visit(network_, 0);
      // Only our own ranks reach it in a simulated network.
      daemon_ = TestDaemon::Start({absl::StrCat("--world-size=", shape_.ranks), "--insecure"}, {},
                                  AddressOf(0) + ":0");
      if (daemon_ == nullptr) return absl::InternalError("musterd did not start");
      coordinator = absl::StrCat(AddressOf(0), ":", daemon_->port());
    }
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      const int node = shape_.NodeOf(rank);
      const SimulatedNetwork::Visit visit(network_, node);
      rank_processes_.Add(
          Process::Start({Runfile("tests/bench/contestants/data_plane_rank"), NameOf(side_),
                          rank_processes_.folder(), absl::StrCat(rank), absl::StrCat(shape_.ranks),
                          AddressOf(node)},
                         {{"MUSTER_COORDINATOR", coordinator},
                          {"MUSTER_RANK", absl::StrCat(rank)},
                          {"MUSTER_NODE_ID", absl::StrCat("node-", node)},
                          {"MUSTER_GLOO_SHARED_MEMORY", side_ == Side::kShared ? "1" : "0"}}));
    }
    return absl::OkStatus();
  }

  std::string AddressOf(int node) const { return SimulatedNetwork::AddressOf(network_, node); }

  // Compiles the program here, so that nothing else needs Open MPI. Uses only its shared-memory
  // transport.
  absl::Status StartOpenMpi() {
    const std::string program = rank_processes_.folder() + "/open_mpi_rank";
    const std::string build = absl::StrCat(
        "mpicc -O2 -o ", program, " ", Runfile("tests/bench/contestants/open_mpi_rank.c"), " >&2");
    if (std::system(build.c_str()) != 0) return absl::InternalError("mpicc has failed");
    rank_processes_.Add(Process::Start(
        {"/usr/bin/env", "mpirun", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl",
         "self,vader", "-np", absl::StrCat(shape_.ranks), program, rank_processes_.folder()},
        {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}}));
    return absl::OkStatus();
  }

  const Side side_;
  const Shape shape_;
  const SimulatedNetwork* const network_;
  std::unique_ptr<TestDaemon> daemon_;
  RankProcesses rank_processes_;  // destroyed first
};

// ---- All sides in turns ----

using Contestants = std::vector<std::pair<Side, std::unique_ptr<Contestant>>>;

absl::StatusOr<Contestants> StartAll(const Shape& shape, const SimulatedNetwork* network,
                                     bool open_mpi) {
  Contestants all;
  for (const Side side : kSides) {
    if (side == Side::kOpenMpi && (!open_mpi || shape.nodes > 1)) continue;
    auto contestant = Contestant::Start(side, shape, network);
    if (!contestant.ok()) return contestant.status();
    all.emplace_back(side, *std::move(contestant));
  }
  return all;
}

// Runs all sides in turns. Each is the first equally often.
absl::Status Compare(const Settings& settings, Contestants* all, Comparison* comparison) {
  constexpr int kMost = 2000;
  std::map<Side, int> counts;
  for (auto& [side, contestant] : *all) {
    const absl::StatusOr<double> first = contestant->Run(*comparison, 1);
    if (!first.ok()) return first.status();
    const double fitting = settings.round_ms * 1e3 / std::max(*first, 1.0);
    counts[side] = std::clamp(static_cast<int>(fitting), 1, kMost);
  }
  for (int round = 0; round < settings.rounds; ++round) {
    for (auto& [side, contestant] : *all) {
      const absl::StatusOr<double> micros = contestant->Run(*comparison, counts[side]);
      if (!micros.ok()) return micros.status();
      comparison->micros[side].push_back(*micros);
    }
    std::rotate(all->begin(), all->begin() + 1, all->end());
  }
  return absl::OkStatus();
}

absl::Status CompareAll(const Settings& settings, const Shape& shape, bool open_mpi,
                        std::vector<Comparison>* comparisons) {
  std::unique_ptr<SimulatedNetwork> network;
  if (shape.nodes > 1 && settings.latency_us >= 0) {
    auto created = SimulatedNetwork::Create(shape.nodes, absl::Microseconds(settings.latency_us));
    if (!created.ok()) return created.status();
    network = *std::move(created);
  }
  absl::StatusOr<Contestants> all = StartAll(shape, network.get(), open_mpi);
  if (!all.ok()) return all.status();
  for (const std::string& operation : settings.operations) {
    for (const size_t bytes : settings.bytes) {
      std::fprintf(stderr, "data_plane: ranks: %s, %s of %zu bytes\n", TextOf(shape).c_str(),
                   operation.c_str(), bytes);
      Comparison comparison = {shape, operation, bytes, {}};
      const absl::Status compared = Compare(settings, &*all, &comparison);
      if (!compared.ok()) return compared;
      comparisons->push_back(std::move(comparison));
    }
  }
  for (auto& [side, contestant] : *all) {
    if (const absl::Status left = contestant->Leave(); !left.ok()) return left;
  }
  return absl::OkStatus();
}

// ---- Output ----

double FastestOf(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// Returns the ratio of rounds that were measured one after the other, so that other load affects
// both, and the ratio of the fastest rounds, which it disturbs least.
std::string Ratios(const std::vector<double>& ours, const std::vector<double>& theirs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / theirs[i]);
  return absl::StrFormat("%.2f, %.2f", MedianOf(std::move(ratios)),
                         FastestOf(ours) / FastestOf(theirs));
}

std::string Times(const std::vector<double>& micros) {
  return absl::StrFormat("%.0f, %.0f", MedianOf(micros), FastestOf(micros));
}

std::string SizeText(size_t bytes) {
  if (bytes % (1 << 20) == 0) return absl::StrCat(bytes >> 20, " MiB");
  return bytes % (1 << 10) == 0 ? absl::StrCat(bytes >> 10, " KiB") : absl::StrCat(bytes, " bytes");
}

// The pairs of sides whose ratios are printed.
constexpr std::pair<Side, Side> kRatios[] = {{Side::kShared, Side::kGloo},
                                             {Side::kShared, Side::kOpenMpi},
                                             {Side::kConnections, Side::kGloo}};

void PrintRow(const Comparison& comparison) {
  const auto& micros = comparison.micros;
  std::vector<std::string> row = {
      TextOf(comparison.shape),
      absl::StrCat(comparison.operation, " of ", SizeText(comparison.bytes))};
  for (const Side side : kSides) {
    row.push_back(micros.count(side) > 0       ? Times(micros.at(side))
                  : comparison.shape.nodes > 1 ? "-"
                                               : "not run: needs openmpi-bin and libopenmpi-dev");
  }
  for (const auto& [ours, theirs] : kRatios) {
    row.push_back(micros.count(theirs) > 0 ? Ratios(micros.at(ours), micros.at(theirs)) : "-");
  }
  PrintLine(row);
}

void PrintTable(const std::vector<Comparison>& comparisons) {
  std::printf(
      "Microseconds of an operation, and ratios: the median of the rounds, the fastest round.\n\n");
  std::vector<std::string> titles = {"ranks", "operation"};
  for (const Side side : kSides) titles.push_back(TitleOf(side));
  for (const auto& [ours, theirs] : kRatios) {
    titles.push_back(absl::StrCat(TitleOf(ours), " / ", TitleOf(theirs)));
  }
  PrintHead(titles);
  for (const Comparison& comparison : comparisons) PrintRow(comparison);
}

bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path) {
  nlohmann::json all = {{"processors", std::thread::hardware_concurrency()},
                        {"comparisons", nlohmann::json::array()}};
  for (const Comparison& comparison : comparisons) {
    nlohmann::json sides = nlohmann::json::object();
    for (const auto& [side, micros] : comparison.micros) {
      sides[NameOf(side)] = {{"wall_us", micros}};
    }
    all["comparisons"].push_back({{"nodes", comparison.shape.nodes},
                                  {"ranks", comparison.shape.ranks},
                                  {"operation", comparison.operation},
                                  {"bytes", comparison.bytes},
                                  {"sides", sides}});
  }
  std::ofstream file(path);
  file << all.dump(1) << std::endl;
  return file.good();
}

int Fail(const std::string& what) {
  std::fprintf(stderr, "data_plane: %s\n", what.c_str());
  return 1;
}

int Main(const Settings& settings) {
  StopOnInterrupt();
  const bool open_mpi = settings.open_mpi && HasOpenMpi();
  std::vector<Comparison> comparisons;
  for (const Shape& shape : settings.shapes) {
    const absl::Status compared = CompareAll(settings, shape, open_mpi, &comparisons);
    if (!compared.ok()) return Fail(compared.ToString());
  }
  if (!settings.json.empty() && !WriteJson(comparisons, settings.json)) {
    return Fail("cannot write " + settings.json);
  }
  PrintTable(comparisons);
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Settings settings;
  CLI::App app(
      "Muster's data plane on CPUs beside bare Gloo and Open MPI: real processes of one machine, "
      "in turns. Debian's openmpi-bin and libopenmpi-dev bring the last one.",
      "data_plane");
  app.add_option("--ranks", settings.shapes, "Sizes of jobs: 8, or 2x4 for two nodes of four ranks")
      ->capture_default_str();
  app.add_option("--latency-us", settings.latency_us,
                 "Give each of several nodes a network namespace, and let a packet take so many "
                 "microseconds from one to another; -1: the loopback is the network")
      ->capture_default_str()
      ->check(CLI::Range(-1, 1000000));
  app.add_option("--bytes", settings.bytes, "What a rank has after an operation, in bytes")
      ->capture_default_str()
      ->check(CLI::Range(size_t{64}, size_t{1} << 30));
  app.add_option("--operations", settings.operations, "What they do")
      ->capture_default_str()
      ->check(CLI::IsMember({"all-reduce", "broadcast", "all-gather"}));
  app.add_option("--rounds", settings.rounds, "Rounds of each operation and size")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--round-ms", settings.round_ms, "About how long a round takes, in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 60000));
  app.add_option("--json", settings.json, "File that gets every round");
  app.add_flag("!--without-open-mpi", settings.open_mpi, "Leave Open MPI out");
  CLI11_PARSE(app, argc, argv);
  settings.json = muster::testing::ResolveFromCaller(settings.json);
  return muster::testing::Main(settings);
}
