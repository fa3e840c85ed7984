#ifndef MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_
#define MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/process.h"
#include "tests/util/wait_until.h"

namespace muster::cli {

// A `muster` command under test and all the processes that come of it, which are found by a
// variable that they inherit.
class MusterCommand {
 public:
  // Runs "muster arguments...". The coordinator it starts is fake_musterd.sh unless `env` or the
  // arguments say otherwise.
  explicit MusterCommand(const std::vector<std::string>& arguments,
                         std::map<std::string, std::string> env = {});
  // Runs any command; "$MUSTER" in its environment is the muster binary.
  static std::unique_ptr<MusterCommand> Wrapped(const std::vector<std::string>& argv,
                                                std::map<std::string, std::string> env = {});
  // Whatever is left is killed, so that one failed test does not disturb the next.
  ~MusterCommand();

  muster::testing::Process& process() { return *process_; }

  // Every living process that came of the command, itself included where it lives.
  std::vector<pid_t> Processes() const;
  // Those that have `text` in their command line.
  std::vector<pid_t> ProcessesWith(const std::string& text) const;
  // Those whose command line is `words`, joined by spaces.
  std::vector<pid_t> ProcessesRunning(const std::string& words) const;
  // Waits until there are `count` processes with that command line.
  bool WaitForProcesses(const std::string& words, size_t count) const;
  // Waits until no process is left; a test failure says which are.
  bool WaitForNone() const;

 private:
  MusterCommand() = default;
  void Start(const std::vector<std::string>& argv, std::map<std::string, std::string> env);

  std::string mark_;  // "NAME=value" in the environment of all of them
  std::unique_ptr<muster::testing::Process> process_;
};

// "muster run" with a shell script for the ranks: {"run", flags..., "--", "sh", "-c", script}.
std::vector<std::string> RunShell(std::vector<std::string> flags, const std::string& script);

// What a run has written, but for the line that says where its coordinator is.
std::string WithoutCoordinator(const std::string& output);

// The lines of `text`, sorted.
std::vector<std::string> SortedLines(const std::string& text);

using testing::ReadFile;
using testing::WaitUntil;

}  // namespace muster::cli

#endif  // MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_
