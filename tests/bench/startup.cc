// Measures how long a job takes to start: from the start of its launcher until the last rank has
// its program, its first barrier and its first all-reduce, and until the launcher has ended. The
// sides are Muster's SDK under `muster run`, on CPUs and on NCCL's host code with stand-in GPUs;
// one program of Open MPI under `mpirun` and under `muster run`; and one program of PyTorch under
// `torchrun` and under `muster run --torch-store`. They take turns, so compare the ratios.
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
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tests/bench/common/callers_folder.h"
#include "tests/bench/common/clocks.h"
#include "tests/bench/common/markdown_table.h"
#include "tests/bench/common/median.h"
#include "tests/bench/common/rank_processes.h"
#include "tests/bench/contestants/peers_home.h"
#include "tests/nccl/libraries.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr int kMostGpus = 8;  // of the stand-in for CUDA
constexpr char kNccl[] = "2.30.7";

enum class Side { kGloo, kNccl, kMpirun, kMusterMpi, kTorchrun, kMusterTorch };
constexpr Side kSides[] = {Side::kGloo,      Side::kNccl,     Side::kMpirun,
                           Side::kMusterMpi, Side::kTorchrun, Side::kMusterTorch};
constexpr const char* kNames[] = {"gloo",       "nccl",     "mpirun",
                                  "muster_mpi", "torchrun", "muster_torch"};
constexpr const char* kTitles[] = {"muster run, SDK with Gloo",
                                   "muster run, SDK with NCCL, stand-in GPUs",
                                   "mpirun, Open MPI",
                                   "muster run, Open MPI",
                                   "torchrun, PyTorch with Gloo",
                                   "muster run --torch-store, PyTorch with Gloo"};

const char* NameOf(Side side) { return kNames[static_cast<int>(side)]; }
const char* TitleOf(Side side) { return kTitles[static_cast<int>(side)]; }
bool IsMpi(Side side) { return side == Side::kMpirun || side == Side::kMusterMpi; }
bool IsTorch(Side side) { return side == Side::kTorchrun || side == Side::kMusterTorch; }

// Milliseconds of a start. Each counts from the moment before, until the last rank is there.
struct Start {
  double program = 0;  // from the launcher's start to the first line of the rank's program
  double loaded = 0;   // to the end of its imports
  double barrier = 0;  // to the end of its first barrier
  double reduced = 0;  // to the end of its first all-reduce
  double ended = 0;    // to the end of the launcher
};
using Field = double Start::*;
constexpr std::pair<const char*, Field> kFields[] = {{"program_ms", &Start::program},
                                                     {"loaded_ms", &Start::loaded},
                                                     {"barrier_ms", &Start::barrier},
                                                     {"reduced_ms", &Start::reduced},
                                                     {"ended_ms", &Start::ended}};

double TotalOf(const Start& start) {
  return start.program + start.loaded + start.barrier + start.reduced;
}

struct Settings {
  std::vector<int> ranks = {2, 8, 32};
  int rounds = 5;
  bool peers = true;
  std::string json;
};

struct Comparison {
  int ranks = 0;
  std::map<Side, std::vector<Start>> starts;
};

bool HasOpenMpi() {
  return std::system(
             "command -v mpicc.openmpi > /dev/null && command -v mpirun.openmpi > "
             "/dev/null") == 0;
}

// ---- One start ----

// Knows how each side starts.
class Launch {
 public:
  explicit Launch(std::string mpi_program) : mpi_program_(std::move(mpi_program)) {}

  // Starts a job and waits for its end.
  absl::StatusOr<Start> Measure(Side side, int ranks) const {
    RankProcesses job(TitleOf(side), ranks);
    const int64_t begin = Nanos(CLOCK_MONOTONIC);
    std::unique_ptr<Process> launcher =
        Process::Start(WordsOf(side, ranks, job.folder()), VariablesOf(side));
    Process& running = *launcher;
    job.Add(std::move(launcher));
    const auto answers = job.Await("ran");
    if (!answers.ok()) return answers.status();
    const Exit exit = running.Wait(kPatience);
    const int64_t end = Nanos(CLOCK_MONOTONIC);
    const auto reported = [](const RankProcesses::Numbers& answer) { return answer.size() == 4; };
    if (!(exit == Exit{false, 0}) || !std::all_of(answers->begin(), answers->end(), reported)) {
      return absl::InternalError(absl::StrCat(TitleOf(side), ", ", ranks, " ranks: ",
                                              running.Output(), "\nNot all ranks did their work"));
    }
    std::vector<int64_t> moments = {begin};
    for (size_t column = 0; column < 4; ++column) moments.push_back(LastOf(*answers, column));
    moments.push_back(end);
    Start start;
    for (size_t i = 0; i < std::size(kFields); ++i) {
      start.*kFields[i].second = static_cast<double>(moments[i + 1] - moments[i]) / 1e6;
    }
    return start;
  }

 private:
  static int64_t LastOf(const std::vector<RankProcesses::Numbers>& answers, size_t column) {
    int64_t last = 0;
    for (const RankProcesses::Numbers& answer : answers) {
      last = std::max(last, answer.at(column));
    }
    return last;
  }

  std::vector<std::string> WordsOf(Side side, int ranks, const std::string& folder) const {
    std::vector<std::string> words = LauncherOf(side, ranks);
    const std::vector<std::string> program = ProgramOf(side);
    words.insert(words.end(), program.begin(), program.end());
    words.push_back(folder);
    return words;
  }

  static std::vector<std::string> LauncherOf(Side side, int ranks) {
    if (side == Side::kMpirun) {
      return {"/usr/bin/env", "mpirun.openmpi", "--oversubscribe", "-np", absl::StrCat(ranks)};
    }
    if (side == Side::kTorchrun) {
      return {kPeersPython, "-m", "torch.distributed.run", "--standalone",
              absl::StrCat("--nproc-per-node=", ranks)};
    }
    std::vector<std::string> words = {Runfile("client/cli/muster"), "run", "--musterd",
                                      MusterdPath(), absl::StrCat("--nproc-per-node=", ranks)};
    if (IsTorch(side)) words.push_back("--torch-store=loopback");
    words.push_back("--");
    return words;
  }

  std::vector<std::string> ProgramOf(Side side) const {
    if (IsMpi(side)) return {mpi_program_};
    const std::string script = Runfile("tests/bench/contestants/startup_torch_rank.py");
    if (side == Side::kTorchrun) return {script};
    if (side == Side::kMusterTorch) return {kPeersPython, script};
    return {Runfile(absl::StrCat("tests/bench/contestants/startup_", NameOf(side), "_rank"))};
  }

  static std::map<std::string, std::string> VariablesOf(Side side) {
    std::map<std::string, std::string> variables;
    if (side == Side::kNccl) variables = NcclVariables();
    if (IsTorch(side)) {
      // One thread for each rank, as torchrun sets it.
      variables = {{"PYTHONPATH", PeersHome() + "/python"}, {"OMP_NUM_THREADS", "1"}};
    }
    if (IsMpi(side)) {
      variables = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
    }
    return variables;
  }

  const std::string mpi_program_;
};

// ---- All sides in turns ----

std::vector<Side> SidesFor(const Settings& settings, int ranks) {
  std::vector<Side> sides;
  for (const Side side : kSides) {
    if (side == Side::kNccl && ranks > kMostGpus) continue;
    if (IsMpi(side) && (!settings.peers || !HasOpenMpi())) continue;
    if (IsTorch(side) && (!settings.peers || PeersHome().empty())) continue;
    sides.push_back(side);
  }
  return sides;
}

absl::StatusOr<Comparison> Compare(const Settings& settings, const Launch& launch, int ranks) {
  Comparison comparison;
  comparison.ranks = ranks;
  std::vector<Side> sides = SidesFor(settings, ranks);
  for (int round = -1; round < settings.rounds; ++round) {  // the first one warms up
    std::fprintf(stderr, "startup: %d ranks, round %d of %d:", ranks, round + 1, settings.rounds);
    for (const Side side : sides) {
      std::fprintf(stderr, " %s", NameOf(side));
      const absl::StatusOr<Start> start = launch.Measure(side, ranks);
      if (!start.ok()) return start.status();
      if (round >= 0) comparison.starts[side].push_back(*start);
    }
    std::fprintf(stderr, "\n");
    std::rotate(sides.begin(), sides.begin() + 1, sides.end());
  }
  return comparison;
}

// ---- Output ----

double MedianOf(const std::vector<Start>& starts, Field field) {
  std::vector<double> values;
  for (const Start& start : starts) values.push_back(start.*field);
  return testing::MedianOf(std::move(values));
}

double MedianTotalOf(const std::vector<Start>& starts) {
  std::vector<double> values;
  for (const Start& start : starts) values.push_back(TotalOf(start));
  return testing::MedianOf(std::move(values));
}

void PrintTable(const std::vector<Comparison>& comparisons) {
  std::printf(
      "Milliseconds, medians of the rounds. Each column counts from the one before, until the last "
      "rank is there. The total ends with the first all-reduce.\n\n");
  const std::vector<std::string> titles = {"ranks",   "side",       "program", "imports",
                                           "barrier", "all-reduce", "total",   "the job's end"};
  PrintHead(titles);
  for (const Comparison& comparison : comparisons) {
    for (const auto& [side, starts] : comparison.starts) {
      std::vector<std::string> row = {absl::StrCat(comparison.ranks), TitleOf(side)};
      for (const auto& [name, field] : kFields) {
        if (field == &Start::ended) row.push_back(absl::StrFormat("%.0f", MedianTotalOf(starts)));
        row.push_back(absl::StrFormat("%.3g", MedianOf(starts, field)));
      }
      PrintLine(row);
    }
  }
}

bool WriteJson(const std::vector<Comparison>& comparisons, const std::string& path) {
  nlohmann::json all = {{"processors", std::thread::hardware_concurrency()},
                        {"torch", PeerVersion("torch")},
                        {"nccl", kNccl},
                        {"comparisons", nlohmann::json::array()}};
  for (const Comparison& comparison : comparisons) {
    nlohmann::json sides = nlohmann::json::object();
    for (const auto& [side, starts] : comparison.starts) {
      for (const auto& [name, field] : kFields) {
        for (const Start& start : starts) sides[NameOf(side)][name].push_back(start.*field);
      }
    }
    all["comparisons"].push_back({{"ranks", comparison.ranks}, {"sides", sides}});
  }
  std::ofstream file(path);
  file << all.dump(1) << std::endl;
  return file.good();
}

int Fail(const std::string& what) {
  std::fprintf(stderr, "startup: %s\n", what.c_str());
  return 1;
}

// Compiles the program here, so that nothing else needs Open MPI.
bool Compile(const std::string& program) {
  return std::system(absl::StrCat("mpicc.openmpi -O2 -o ", program, " ",
                                  Runfile("tests/bench/contestants/startup_mpi_rank.c"), " >&2")
                         .c_str()) == 0;
}

int Main(const Settings& settings) {
  StopOnInterrupt();
  setenv("MUSTER_TEST_NCCL", kNccl, 1);
  const std::string mpi_program = MakeTempDir() + "/startup_mpi_rank";
  if (settings.peers && HasOpenMpi() && !Compile(mpi_program)) return Fail("mpicc has failed");
  const Launch launch(mpi_program);
  std::vector<Comparison> comparisons;
  for (const int ranks : settings.ranks) {
    auto compared = Compare(settings, launch, ranks);
    if (!compared.ok()) return Fail(compared.status().ToString());
    comparisons.push_back(*std::move(compared));
    if (!settings.json.empty() && !WriteJson(comparisons, settings.json)) {
      return Fail("cannot write " + settings.json);
    }
  }
  PrintTable(comparisons);
  return 0;
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  muster::testing::Settings settings;
  CLI::App app(
      "How long jobs take to start, with `muster run`, mpirun and torchrun: to their first barrier "
      "and their first all-reduce, in turns. tools/peers brings PyTorch; Debian's openmpi-bin and "
      "libopenmpi-dev bring Open MPI.",
      "startup");
  app.add_option("--ranks", settings.ranks, "Sizes of jobs")
      ->capture_default_str()
      ->check(CLI::Range(2, 256));
  app.add_option("--rounds", settings.rounds, "Jobs of each side and size")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--json", settings.json, "File that gets every start");
  app.add_flag("!--without-peers", settings.peers, "Leave Open MPI and PyTorch out");
  CLI11_PARSE(app, argc, argv);
  settings.json = muster::testing::ResolveFromCaller(settings.json);
  return muster::testing::Main(settings);
}
