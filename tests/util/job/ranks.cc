#include "tests/util/job/ranks.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
namespace {

std::string MusterPath() { return Runfile("client/cli/muster"); }

void Append(const Args& words, Args* command) {
  command->insert(command->end(), words.begin(), words.end());
}

}  // namespace

Args RankCommand(const Args& steps) {
  Args command = {Runfile("tests/rank/rank")};
  Append(steps, &command);
  return command;
}

Args LaunchCommand(const Args& flags, const Args& program) {
  Args command = {MusterPath(), "run"};
  Append(flags, &command);
  Append({"--"}, &command);
  Append(program, &command);
  return command;
}

std::unique_ptr<Process> Launch(int ranks, const Args& steps, const Args& flags,
                                const Variables& env) {
  Args all = {"--nproc-per-node", absl::StrCat(ranks)};
  Append(flags, &all);
  return Process::Start(LaunchCommand(all, RankCommand(steps)), env);
}

std::unique_ptr<Process> LaunchAt(const TestDaemon& daemon, int ranks, const Args& steps,
                                  const Args& flags) {
  // The wait is long, so that ranks end on their own on a slow machine too.
  Args all = {"--coordinator", daemon.address(), "--failure-wait=1m"};
  Append(flags, &all);
  return Launch(ranks, steps, all);
}

std::unique_ptr<Process> StartRank(const std::string& coordinator, int rank, const Args& steps,
                                   Variables env) {
  env.emplace("MUSTER_COORDINATOR", coordinator);
  if (rank >= 0) env.emplace("MUSTER_RANK", absl::StrCat(rank));
  return Process::Start(RankCommand(steps), env);
}

std::vector<std::unique_ptr<Process>> StartRanks(const std::string& coordinator, int ranks,
                                                 const Args& steps, const Variables& env) {
  std::vector<std::unique_ptr<Process>> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(StartRank(coordinator, rank, steps, env));
  }
  return processes;
}

void ExpectExits(const std::vector<std::unique_ptr<Process>>& processes, const Exit& exit) {
  for (const auto& process : processes) EXPECT_EQ(process->Wait(), exit) << process->Output();
}

Gate::Gate() : path_(absl::StrCat(MakeTempDir(), "/gate")) {}

void Gate::Open() const { std::ofstream(path_).close(); }

bool AwaitStep(Process& launcher, const std::vector<int>& ranks, const std::string& step) {
  for (int rank : ranks) {
    if (!launcher.WaitForOutput(absl::StrCat("rank ", rank, " pid "))) return false;
    const std::string line =
        absl::StrCat("rank ", rank, " pid ", PidOf(rank, launcher), " begins ", step);
    if (!launcher.WaitForOutput(line)) return false;
  }
  return true;
}

pid_t PidOf(int rank, const Process& launcher) {
  const std::string mark = absl::StrCat("rank ", rank, " pid ");
  const std::string output = launcher.Output();
  const size_t at = output.find(mark);
  return at == std::string::npos ? -1 : std::stoi(output.substr(at + mark.size()));
}

int CountOf(const std::string& text, const std::string& what) {
  return static_cast<int>(std::vector<std::string>(absl::StrSplit(text, what)).size()) - 1;
}

bool AwaitCount(Process& process, const std::string& what, int count) {
  const auto printed = [&] { return CountOf(process.Output(), what) >= count; };
  return WaitUntil([&] { return printed() || !process.Running(); }) && printed();
}

std::string SentenceAbout(int rank, const std::string& text) {
  // If a node has no id, the host names it. In a launcher's words, the process comes first.
  const size_t at = std::min(text.find(absl::StrCat("rank ", rank, " (node '")),
                             text.find(absl::StrCat("rank ", rank, " (host ")));
  if (at == std::string::npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

std::string MusterStatus(const TestDaemon& daemon) {
  auto status = Process::Start({MusterPath(), "status", "--coordinator", daemon.address()});
  EXPECT_EQ(status->Wait(), kSuccess) << status->Output();
  return status->Output();
}

Ranks::Ranks(int size, int per_node, const Args& command, const Variables& env,
             const std::map<int, Variables>& env_by_rank, const Args& daemon_flags) {
  Args flags = {absl::StrCat("--world-size=", size)};
  Append(daemon_flags, &flags);
  daemon_ = TestDaemon::Start(flags);
  for (int rank = 0; rank < size; ++rank) {
    Variables all = {{"MUSTER_COORDINATOR", daemon_->address()},
                     {"MUSTER_RANK", absl::StrCat(rank)},
                     {"MUSTER_NODE_ID", absl::StrCat("node-", rank / per_node)}};
    for (const auto& [name, value] : env) all[name] = value;
    if (const auto own = env_by_rank.find(rank); own != env_by_rank.end()) {
      for (const auto& [name, value] : own->second) all[name] = value;
    }
    processes_.push_back(Process::Start(command, all));
  }
}

std::vector<Exit> Ranks::exits() const {
  std::vector<Exit> exits;
  for (const auto& process : processes_) exits.push_back(process->Wait());
  return exits;
}

std::string Ranks::output(int rank) const {
  processes_[rank]->Wait();
  return processes_[rank]->Output();
}

std::vector<std::string> Ranks::outputs() const {
  std::vector<std::string> outputs;
  for (int rank = 0; rank < size(); ++rank) outputs.push_back(output(rank));
  return outputs;
}

}  // namespace muster::testing
