#include "tests/client/cli/muster_command.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace muster::cli {
namespace {

using muster::testing::Process;
using muster::testing::Runfile;

constexpr char kMark[] = "COMMAND_UNDER_TEST";

std::string CommandLine(pid_t pid) {
  std::string line = ReadFile(absl::StrCat("/proc/", pid, "/cmdline"));
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace(line.begin(), line.end(), '\0', ' ');
  return line;
}

bool HasVariable(pid_t pid, const std::string& variable) {
  const std::string environment = ReadFile(absl::StrCat("/proc/", pid, "/environ"));
  const std::vector<std::string> variables = absl::StrSplit(environment, '\0');
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  DIR* proc = opendir("/proc");
  while (const dirent* entry = readdir(proc)) {
    pid_t pid = 0;
    if (absl::SimpleAtoi(entry->d_name, &pid)) pids.push_back(pid);
  }
  closedir(proc);
  return pids;
}

}  // namespace

MusterCommand::MusterCommand(const std::vector<std::string>& arguments,
                             std::map<std::string, std::string> env) {
  std::vector<std::string> argv = {Runfile("client/cli/muster")};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  Start(argv, std::move(env));
}

std::unique_ptr<MusterCommand> MusterCommand::Wrapped(const std::vector<std::string>& argv,
                                                      std::map<std::string, std::string> env) {
  std::unique_ptr<MusterCommand> command(new MusterCommand());
  command->Start(argv, std::move(env));
  return command;
}

void MusterCommand::Start(const std::vector<std::string>& argv,
                          std::map<std::string, std::string> env) {
  static int started = 0;
  const std::string value = absl::StrCat(getpid(), "-", ++started);
  mark_ = absl::StrCat(kMark, "=", value);
  env.emplace(kMark, value);
  env.emplace("MUSTER", Runfile("client/cli/muster"));
  env.emplace("MUSTER_MUSTERD", Runfile("tests/client/cli/fake_musterd.sh"));
  process_ = Process::Start(argv, env);
}

MusterCommand::~MusterCommand() {
  process_.reset();
  for (pid_t pid : Processes()) kill(pid, SIGKILL);
}

std::vector<pid_t> MusterCommand::Processes() const {
  std::vector<pid_t> found;
  for (pid_t pid : AllProcesses()) {
    if (HasVariable(pid, mark_)) found.push_back(pid);  // skips zombies, which have no environment
  }
  return found;
}

std::vector<pid_t> MusterCommand::ProcessesWith(const std::string& text) const {
  std::vector<pid_t> found = Processes();
  const auto lacks = [&](pid_t pid) { return !absl::StrContains(CommandLine(pid), text); };
  found.erase(std::remove_if(found.begin(), found.end(), lacks), found.end());
  return found;
}

std::vector<pid_t> MusterCommand::ProcessesRunning(const std::string& words) const {
  std::vector<pid_t> found = Processes();
  const auto differs = [&](pid_t pid) { return CommandLine(pid) != words; };
  found.erase(std::remove_if(found.begin(), found.end(), differs), found.end());
  return found;
}

bool MusterCommand::WaitForProcesses(const std::string& words, size_t count) const {
  if (WaitUntil([&] { return ProcessesRunning(words).size() == count; })) return true;
  ADD_FAILURE() << ProcessesRunning(words).size() << " of " << count << " run '" << words
                << "'; the output:\n"
                << process_->Output();
  return false;
}

bool MusterCommand::WaitForNone() const {
  if (WaitUntil([this] { return Processes().empty(); })) return true;
  for (pid_t pid : Processes()) ADD_FAILURE() << "left: " << pid << " " << CommandLine(pid);
  return false;
}

std::vector<std::string> RunShell(std::vector<std::string> flags, const std::string& script) {
  flags.insert(flags.begin(), "run");
  flags.insert(flags.end(), {"--", "sh", "-c", script});
  return flags;
}

std::string WithoutCoordinator(const std::string& output) {
  const size_t begin = output.find("muster: the coordinator is at ");
  if (begin == std::string::npos) return output;
  return output.substr(0, begin) + output.substr(output.find('\n', begin) + 1);
}

std::vector<std::string> SortedLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace muster::cli
