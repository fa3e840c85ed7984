#ifndef MUSTER_TESTS_UTIL_JOB_RANKS_H_
#define MUSTER_TESTS_UTIL_JOB_RANKS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/job/daemon.h"
#include "tests/util/job/status_reader.h"
#include "tests/util/process/process.h"

// Real processes as the ranks of a job, with and without a launcher. Ranks run the program
// tests/rank, whose arguments are steps.
namespace muster::testing {

// The ends of a rank (tests/rank) after an error, and after all its steps.
constexpr Exit kRankError = {false, 3};
constexpr Exit kSuccess = {false, 0};

using Args = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// Returns the command of a rank that does `steps` (tests/rank/interpreter.h).
Args RankCommand(const Args& steps);

// Returns "muster run flags... -- program...". It finds the real musterd beside itself.
Args LaunchCommand(const Args& flags, const Args& program);

// Starts `muster run` of `ranks` processes that do `steps`. `flags` may name a coordinator. Without
// one, the launcher starts the real musterd.
std::unique_ptr<Process> Launch(int ranks, const Args& steps, const Args& flags = {},
                                const Variables& env = {});
// Starts `muster run` with a daemon that already runs.
std::unique_ptr<Process> LaunchAt(const TestDaemon& daemon, int ranks, const Args& steps,
                                  const Args& flags = {});

// Starts one process of a job without a launcher. It asks for `rank`, or for any rank if that is
// negative.
std::unique_ptr<Process> StartRank(const std::string& coordinator, int rank, const Args& steps,
                                   Variables env = {});
std::vector<std::unique_ptr<Process>> StartRanks(const std::string& coordinator, int ranks,
                                                 const Args& steps, const Variables& env = {});

// Expects that every one of the processes ends like this.
void ExpectExits(const std::vector<std::unique_ptr<Process>>& processes, const Exit& exit);

// A file on which ranks wait: the step "wait=PATH".
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
bool AwaitStep(Process& launcher, const std::vector<int>& ranks, const std::string& step);

// Returns the pid of a rank that has begun a step, from the launcher's output.
pid_t PidOf(int rank, const Process& launcher);

// Returns how often `what` occurs in `text`.
int CountOf(const std::string& text, const std::string& what);

// Waits until a process has printed `what` `count` times. Returns false if it ends before, or after
// a time-out.
bool AwaitCount(Process& process, const std::string& what, int count);

// Returns the part of `text` from "rank R (node '" or "rank R (host " to the end of the line, or
// "".
std::string SentenceAbout(int rank, const std::string& text);

// Returns the output of `muster status`.
std::string MusterStatus(const TestDaemon& daemon);

// The processes of one job, with their own daemon and without a launcher. Each has its own output,
// so a test can look at each of them. Rank r is on node "node-(r / per_node)". A process that ends
// without leaving is lost 300 ms later, unless `daemon_flags` say otherwise.
class Ranks {
 public:
  // Starts the ranks, which run `command`. `env` is added to the environment of all of them, and
  // `env_by_rank` to that of single ranks. `daemon_flags` are musterd's, beside the world size.
  Ranks(int size, int per_node, const Args& command, const Variables& env = {},
        const std::map<int, Variables>& env_by_rank = {},
        const Args& daemon_flags = {"--member-grace=300ms"});

  int size() const { return static_cast<int>(processes_.size()); }
  TestDaemon& daemon() const { return *daemon_; }
  Process& operator[](int rank) const { return *processes_[rank]; }

  // These wait for the end of the processes, and return how they ended, and their output.
  Exit exit(int rank) const { return processes_[rank]->Wait(); }
  std::vector<Exit> exits() const;
  std::string output(int rank) const;
  std::vector<std::string> outputs() const;

 private:
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_JOB_RANKS_H_
