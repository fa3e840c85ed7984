#include "tests/gpu/suite.h"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/gpu/gpu_ranks.h"
#include "tests/util/job/daemon.h"
#include "tests/util/process/process.h"

namespace muster::gpu {
namespace {

using testing::Exit;
using testing::MakeTempDir;
using testing::MusterdPath;
using testing::Process;
using testing::Runfile;
using testing::TestDaemon;

constexpr Exit kSuccess = {false, 0};
constexpr Exit kKilled = {true, SIGKILL};
constexpr absl::Duration kTimeout = absl::Seconds(150);
constexpr int kSanitizerFound = 42;

using Command = std::vector<std::string>;

Command operator+(Command command, const Command& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Command RankCommand(const std::string& check, const SuiteFlags& flags) {
  const Command command = {Runfile(flags.rank_program), check, "--scratch", MakeTempDir()};
  if (flags.small) return command + Command{"--max-bytes=65536", "--rounds=20", "--seconds=0.1"};
  return command + Command{"--judge"};
}

// Runs the ranks, and expects that the last one ends as `last`, and that the others succeed.
void ExpectRanks(int size, const Command& command, const Exit& last = kSuccess) {
  const std::unique_ptr<Ranks> ranks = Ranks::Start(size, command);
  ASSERT_NE(ranks, nullptr);
  const std::vector<Exit> exits = ranks->Wait(kTimeout);
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_EQ(exits[rank], rank == size - 1 ? last : kSuccess) << "rank " << rank;
  }
  if (::testing::Test::HasFailure()) std::cout << ranks->OthersOutput();
}

void RunValues(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("values", flags));
}

void RunHostBuffers(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("host_buffers", flags));
}

void RunGroups(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("groups", flags));
}

void RunLoss(int ranks, const SuiteFlags& flags) {
  const std::unique_ptr<TestDaemon> second =
      TestDaemon::Start({absl::StrCat("--world-size=", ranks - 1)});
  ASSERT_NE(second, nullptr);
  const Command command = RankCommand("loss", flags) +
                          Command{absl::StrCat("--second-coordinator=", second->address())};
  ExpectRanks(ranks, command, kKilled);
}

void RunChurn(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("churn", flags));
}

void RunProfiler(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("profiler", flags) +
                         Command{"--profiler-plugin", Runfile(flags.profiler_plugin)});
}

void RunBootstrap(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("bootstrap", flags));
}

void RunSpeed(int ranks, const SuiteFlags& flags) {
  ExpectRanks(ranks, RankCommand("speed", flags));
}

// Runs the scenarios without faults of the tests on stand-ins. They must pass on a real GPU too.
void RunScenarios(int ranks, const SuiteFlags& flags) {
  std::vector<std::string> scenarios = {"device-values", "host-values", "stream-order"};
  if (ranks == 2) scenarios.push_back("refusals");
  if (ranks == 4) scenarios.push_back("splits");
  for (const std::string& scenario : scenarios) {
    ExpectRanks(ranks, {Runfile(flags.scenarios), scenario});
  }
}

// Returns the path of compute-sanitizer, or "" if there is none.
std::string FindSanitizer(const SuiteFlags& flags) {
  if (!flags.sanitizer.empty()) return Runfile(flags.sanitizer);
  const char* path = std::getenv("PATH");
  std::vector<std::string> folders = absl::StrSplit(path == nullptr ? "" : path, ':');
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    const std::string program = folder + "/compute-sanitizer";
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

// Ignores errors of the driver's calls, since NCCL probes the driver with calls that may fail.
void RunSanitizer(int ranks, const SuiteFlags& flags) {
  const std::string sanitizer = FindSanitizer(flags);
  if (sanitizer.empty()) GTEST_SKIP() << "compute-sanitizer is not on this machine";
  ExpectRanks(ranks, Command{sanitizer, "--tool", "memcheck", "--report-api-errors", "no",
                             "--error-exitcode", absl::StrCat(kSanitizerFound)} +
                         RankCommand("values", flags) + Command{"--quick"});
}

// Returns the command of `muster run` with ranks on one GPU. Each rank needs another NCCL_HOSTID.
Command Launch(int ranks, const Command& program, const SuiteFlags& flags) {
  return Command{Runfile(flags.muster),
                 "run",
                 "--musterd",
                 MusterdPath(),
                 "--no-prefix",
                 "--nproc-per-node",
                 absl::StrCat(ranks),
                 "--",
                 "/bin/sh",
                 "-c",
                 "NCCL_HOSTID=gpu-test-$MUSTER_RANK exec \"$0\" \"$@\""} +
         program;
}

// Runs the command, which must succeed, and returns its output.
std::string OutputOf(const Command& command, const std::map<std::string, std::string>& env) {
  const std::unique_ptr<Process> process = Process::Start(command, env);
  EXPECT_EQ(process->Wait(kTimeout), kSuccess) << process->Output();
  Echo(*process).ShowNew();
  return process->Output();
}

// Returns L of "final loss=L accuracy=A".
double FinalLoss(const std::string& output) {
  double loss = std::nan("");
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::ConsumePrefix(&line, "final loss=")) continue;
    EXPECT_TRUE(absl::SimpleAtod(line.substr(0, line.find(' ')), &loss)) << line;
  }
  return loss;
}

void RunDigits(int ranks, const SuiteFlags& flags) {
  const Command digits = {Runfile(flags.digits), "--epochs", "5"};
  // Without the GPU, on one rank.
  const double expected = FinalLoss(OutputOf(digits, {{"CUDA_VISIBLE_DEVICES", ""}}));
  const double loss = FinalLoss(OutputOf(
      Launch(ranks, digits + Command{"--backend", "nccl"}, flags), SharedGpuEnvironment()));
  EXPECT_NEAR(loss, expected, 1e-4 * expected);
}

void ExpectAllReduceExample(int ranks, const Command& options, const SuiteFlags& flags) {
  const Command program =
      Command{Runfile(flags.allreduce), "--backend", "nccl", "--warmup", "2", "--iterations", "5"} +
      options;
  const std::string output = OutputOf(Launch(ranks, program, flags), SharedGpuEnvironment());
  EXPECT_NE(output.find("nccl, buffers in the memory of: device 0"), std::string::npos) << output;
  EXPECT_NE(output.find(", 0 wrong values"), std::string::npos) << output;
}

void RunAllReduceExample(int ranks, const SuiteFlags& flags) {
  ExpectAllReduceExample(ranks, {"-b", "16K", "-e", flags.small ? "64K" : "64M", "-f", "64"},
                         flags);
  if (ranks != 2) return;
  for (const char* collective :
       {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "sendrecv"}) {
    ExpectAllReduceExample(
        ranks, {"--collective", collective, "--type", "bfloat16", "-b", "64K", "-e", "64K"}, flags);
  }
}

}  // namespace

const std::vector<Check>& AllChecks() {
  static const auto* const checks = new std::vector<Check>{
      {"Values",
       "every type and operation, against what the CPU makes of the same input",
       {1, 2, 4},
       RunValues},
      {"HostBuffers",
       "Communicator on NCCL, with buffers in host and in device memory",
       {1, 2, 4},
       RunHostBuffers},
      {"Groups", "many buffers as one launch; communicators made by Split", {1, 2, 4}, RunGroups},
      {"Profiler", "NCCL tells the plug-in what the GPU has done", {2, 4}, RunProfiler},
      {"Scenarios",
       "what the tests on stand-ins for NCCL and CUDA do where nothing goes wrong",
       {1, 2, 3, 4},
       RunScenarios},
      {"Loss",
       "a rank is killed in the middle of an all-reduce: within 5 s the others get the "
       "error that names it, and go on with a new communicator",
       {2, 4},
       RunLoss},
      {"Churn",
       "100 communicators created and destroyed: no memory, thread or file stays behind",
       {1, 2},
       RunChurn},
      {"Bootstrap",
       "time to create a communicator, beside bare NCCL with the id in a file",
       {1, 2, 4},
       RunBootstrap},
      {"Speed",
       "all-reduce and broadcast beside bare NCCL, in turns: from 1 MiB on at most 1.01 "
       "times as long",
       {1, 2, 4},
       RunSpeed},
      {"Digits",
       "the digits example learns with NCCL what it learns without a GPU",
       {1, 2, 4},
       RunDigits},
      {"AllReduceExample",
       "the allreduce example, on device memory and a stream of its own",
       {1, 2, 4},
       RunAllReduceExample},
      {"Sanitizer", "compute-sanitizer's memcheck finds nothing", {1, 2}, RunSanitizer},
  };
  return *checks;
}

std::string NameOf(const Check& check, int ranks) {
  return absl::StrCat(check.name, ".", ranks, ranks == 1 ? "rank" : "ranks");
}

}  // namespace muster::gpu
