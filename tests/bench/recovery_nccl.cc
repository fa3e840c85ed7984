// Measures how long NCCL communicators take: from SIGKILL of a rank to the last survivor's error;
// from there to the first all-reduce of the next epoch; and to be created, compared with bare NCCL.
// 2, 4 and 8 ranks, through shared memory (one node) and through sockets (each rank on its own
// node). NCCL's own host code runs on the stand-in GPUs, so the times show the work of NCCL and
// Muster on the CPU, and no GPU's.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/bench/common/median.h"
#include "tests/bench/recovering/recovery_job.h"
#include "tests/nccl/libraries.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

const absl::Duration kSettle = absl::Milliseconds(200);
constexpr absl::Duration kPatience = absl::Minutes(5);

enum class Transport { kSharedMemory, kSockets };

const char* NameOf(Transport transport) {
  return transport == Transport::kSharedMemory ? "SHM" : "NET";
}

double Millis(int64_t nanos) { return static_cast<double>(nanos) / 1e6; }

// Puts all ranks on one "node", or each on its own: NCCL distinguishes hosts by NCCL_HOSTID.
std::vector<std::string> OnTransport(Transport transport, const std::vector<std::string>& program) {
  if (transport == Transport::kSharedMemory) return program;
  std::vector<std::string> command = {"/bin/sh", "-c",
                                      "NCCL_HOSTID=node-$MUSTER_RANK exec \"$0\" \"$@\""};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

BenchJob::Options Ranks(int ranks, Transport transport, const std::string& mode) {
  BenchJob::Options options;
  options.members = ranks;
  options.command =
      OnTransport(transport, {Runfile("tests/bench/recovering/recovery_nccl_member"), mode});
  options.env = NcclVariables();
  return options;
}

struct Recovery {
  double lost = 0;  // from SIGKILL until the last survivor is out of the collective
  double reformed =
      0;  // from there to the first all-reduce of the next epoch, less the settle time
};

// Kills a rank while all ranks are in all-reduces.
Recovery MeasureRecovery(int ranks, Transport transport) {
  BenchJob::Options options = Ranks(ranks, transport, "reduce");
  options.daemon_flags = {absl::StrCat("--min-world-size=", ranks - 1),
                          absl::StrCat("--settle=", absl::FormatDuration(kSettle))};
  BenchJob job(options);
  job.reports().Await(Report::kReduced, 3);
  const int64_t killed = job.Kill();
  const int64_t lost = job.reports().LastOf(Report::kLost, ranks - 1);
  const int64_t reformed = job.reports().LastOf(Report::kReformed, ranks - 1);
  return {Millis(lost - killed), Millis(reformed - lost) - absl::ToDoubleMilliseconds(kSettle)};
}

// Measures the floor of the second figure: bare NCCL creates a communicator of as many ranks, and
// reduces.
double MeasureBareStart(int ranks, Transport transport) {
  BenchJob job(Ranks(ranks, transport, "bare"));
  const int64_t ready = job.reports().LastOf(Report::kBarrier, ranks);
  return Millis(job.reports().LastOf(Report::kReformed, ranks) - ready);
}

void PrintMedian(int ranks, Transport transport, const char* what,
                 const std::vector<double>& millis) {
  const auto [least, most] = std::minmax_element(millis.begin(), millis.end());
  std::printf("%5d  %-4s %-52s %8.1f   %.1f to %.1f\n", ranks, NameOf(transport), what,
              MedianOf(millis), *least, *most);
  std::fflush(stdout);
}

void MeasureLossAndReturn(int ranks, Transport transport, int rounds) {
  std::vector<double> lost;
  std::vector<double> reformed;
  std::vector<double> bare;
  for (int round = 0; round < rounds; ++round) {
    const Recovery recovery = MeasureRecovery(ranks, transport);
    lost.push_back(recovery.lost);
    reformed.push_back(recovery.reformed);
    if (ranks > 2) bare.push_back(MeasureBareStart(ranks - 1, transport));
  }
  PrintMedian(ranks, transport, "loss to the last survivor's error", lost);
  PrintMedian(ranks, transport, "from there to the next epoch's first all-reduce", reformed);
  if (ranks > 2) {
    PrintMedian(ranks, transport, "floor: bare NCCL starts and reduces, one rank fewer", bare);
  }
}

// Measures creation. The check Bootstrap of tests/gpu compares Create with bare NCCL, in turns.
void PrintCreation(int ranks, Transport transport, int rounds, int ranks_per_id) {
  std::vector<std::string> command = {Runfile("client/cli/muster"),
                                      "run",
                                      "--musterd",
                                      MusterdPath(),
                                      "--no-prefix",
                                      "--nproc-per-node",
                                      absl::StrCat(ranks),
                                      "--"};
  const std::vector<std::string> rank =
      OnTransport(transport, {Runfile("tests/gpu/rank_on_nccl"), "bootstrap", "--scratch",
                              MakeTempDir(), absl::StrCat("--rounds=", 10 * rounds)});
  command.insert(command.end(), rank.begin(), rank.end());
  std::map<std::string, std::string> env = NcclVariables();
  env["MUSTER_NCCL_RANKS_PER_ID"] = absl::StrCat(ranks_per_id);
  const auto process = Process::Start(command, env);
  if (!(process->Wait(kPatience) == Exit{false, 0})) EndBenchmark(process->Output());
  const std::string output = process->Output();
  const size_t figures = output.find("Create ");
  if (figures == std::string::npos) EndBenchmark("no figures in: " + output);
  std::printf("%5d  %-4s %d id%s: %s", ranks, NameOf(transport), ranks / ranks_per_id,
              ranks == ranks_per_id ? "" : "s",
              output.substr(figures, output.find('\n', figures) + 1 - figures).c_str());
  std::fflush(stdout);
}

void Measure(const std::string& nccl, const std::vector<int>& ranks, int rounds) {
  setenv("MUSTER_TEST_NCCL", nccl.c_str(), 1);
  std::printf("NCCL %s; milliseconds, median of %d rounds\n", nccl.c_str(), rounds);
  std::printf("ranks  %-57s %8s   fastest to slowest\n", "", "median");
  for (const Transport transport : {Transport::kSharedMemory, Transport::kSockets}) {
    for (const int count : ranks) MeasureLossAndReturn(count, transport, rounds);
  }
  std::printf("\nNcclCommunicator::Create beside bare NCCL\n");
  for (const Transport transport : {Transport::kSharedMemory, Transport::kSockets}) {
    for (const int count : ranks) PrintCreation(count, transport, rounds, count);
  }
  const int most = *std::max_element(ranks.begin(), ranks.end());
  for (int ranks_per_id = most / 2; ranks_per_id > 0; ranks_per_id /= 2) {
    PrintCreation(most, Transport::kSharedMemory, rounds, ranks_per_id);
  }
}

}  // namespace
}  // namespace muster::testing

int main(int argc, char** argv) {
  std::string nccl = "2.30.7";
  std::vector<int> ranks = {2, 4, 8};
  int rounds = 5;
  CLI::App app(
      "How long NCCL communicators take to end after a loss, to return, and to be created.",
      "recovery_nccl");
  app.add_option("--nccl", nccl, "Version of NCCL's host code, on the stand-in GPUs")
      ->capture_default_str()
      ->check(CLI::IsMember({"2.22.3", "2.30.7"}));
  app.add_option("--ranks", ranks, "Numbers of ranks to measure")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(2, 8));
  app.add_option("--rounds", rounds, "Rounds of each; each starts its ranks anew")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  muster::testing::Measure(nccl, ranks, rounds);
}
