#ifndef MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_
#define MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/process/process.h"
#include "tests/util/process/wait_until.h"

namespace muster::cli {

// A `muster` command under test, with all processes that it starts, directly or indirectly. They
// inherit a variable by which this class finds them.
class MusterCommand {
 public:
  // Runs "muster arguments...". The coordinator is fake_musterd.sh unless `env` or the arguments
  // name another.
  explicit MusterCommand(const std::vector<std::string>& arguments,
                         std::map<std::string, std::string> env = {});
  // Runs any command. "$MUSTER" in its environment is the muster binary.
  static std::unique_ptr<MusterCommand> Wrapped(const std::vector<std::string>& argv,
                                                std::map<std::string, std::string> env = {});
  // Kills all processes that are left, so that one failed test does not disturb the next.
  ~MusterCommand();

  muster::testing::Process& process() { return *process_; }

  // Returns the living processes, including the command itself.
  std::vector<pid_t> Processes() const;
  // Returns the processes whose command line contains `text`.
  std::vector<pid_t> ProcessesWith(const std::string& text) const;
  // Returns the processes whose command line is `words`, joined by spaces.
  std::vector<pid_t> ProcessesRunning(const std::string& words) const;
  // Waits until `count` processes have this command line. Returns false after a time-out.
  bool WaitForProcesses(const std::string& words, size_t count) const;
  // Waits until no process is left. Otherwise fails the test, with the command lines of the rest.
  bool WaitForNone() const;

 private:
  MusterCommand() = default;
  void Start(const std::vector<std::string>& argv, std::map<std::string, std::string> env);

  std::string mark_;  // "NAME=value" in the environment of all processes
  std::unique_ptr<muster::testing::Process> process_;
};

// Returns "muster run" with a shell script as the ranks' program: {"run", flags..., "--", "sh",
// "-c", script}.
std::vector<std::string> RunShell(std::vector<std::string> flags, const std::string& script);

// Returns a run's output without the line that names its coordinator.
std::string WithoutCoordinator(const std::string& output);

// Returns the lines of `text`, sorted.
std::vector<std::string> SortedLines(const std::string& text);

using testing::ReadFile;
using testing::WaitUntil;

}  // namespace muster::cli

#endif  // MUSTER_TESTS_CLIENT_CLI_MUSTER_COMMAND_H_
