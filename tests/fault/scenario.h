#ifndef MUSTER_TESTS_FAULT_SCENARIO_H_
#define MUSTER_TESTS_FAULT_SCENARIO_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/daemon.h"
#include "tests/util/process.h"
#include "tests/util/status_reader.h"

namespace muster::testing {

// What tests/fault/rank.cc ends with after an error, and after all its steps.
constexpr Exit kRankError = {false, 3};
constexpr Exit kSuccess = {false, 0};

using Words = std::vector<std::string>;

// `muster run` of `ranks` processes that do `steps` (rank.cc). `flags` say which coordinator; one
// of its own is the real musterd.
std::unique_ptr<Process> Launch(int ranks, const Words& steps, const Words& flags = {},
                                const std::map<std::string, std::string>& env = {});
// The same, for a daemon that runs.
std::unique_ptr<Process> LaunchAt(const TestDaemon& daemon, int ranks, const Words& steps,
                                  const Words& flags = {});

// One process of a job, without a launcher. `rank`: what it asks for; below 0: nothing.
std::unique_ptr<Process> StartRank(const std::string& coordinator, int rank, const Words& steps,
                                   std::map<std::string, std::string> env = {});
std::vector<std::unique_ptr<Process>> StartRanks(
    const std::string& coordinator, int ranks, const Words& steps,
    const std::map<std::string, std::string>& env = {});

// Expects every one of the processes to end like that.
void ExpectEnds(const std::vector<std::unique_ptr<Process>>& processes, const Exit& exit);

// A file that makes ranks go on: the step "wait=PATH".
class Gate {
 public:
  Gate();
  const std::string& path() const { return path_; }
  std::string wait() const { return "wait=" + path_; }
  void Open() const;

 private:
  const std::string path_;
};

// Waits until these ranks of a launcher have begun a step.
bool AwaitBegin(Process& launcher, const std::vector<int>& ranks, const std::string& step);

// The pid of a rank that has begun a step, from what it has printed.
pid_t PidOf(int rank, const Process& launcher);

// How often `what` is in `text`.
int CountOf(const std::string& text, const std::string& what);

// Waits until a process has printed `what` so often; false if it never does.
bool AwaitCount(Process& process, const std::string& what, int count);

// The sentence that begins with "rank R (node '" in `text`, to the end of its line.
std::string SentenceAbout(int rank, const std::string& text);

// What `muster status` prints.
std::string MusterStatus(const TestDaemon& daemon);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_FAULT_SCENARIO_H_
