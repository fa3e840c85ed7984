#ifndef MUSTER_TESTS_UTIL_RANKS_H_
#define MUSTER_TESTS_UTIL_RANKS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/daemon.h"
#include "tests/util/process.h"
#include "tests/util/status_reader.h"

// Real processes that are the ranks of a job, with and without a launcher.
namespace muster::testing {

// What a rank (tests/rank) ends with after an error, and after all its steps.
constexpr Exit kRankError = {false, 3};
constexpr Exit kSuccess = {false, 0};

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

// The program that does `steps`: tests/rank/interpreter.h.
Words RankCommand(const Words& steps);

// "muster run flags... -- program...", which finds the real musterd beside itself.
Words LaunchCommand(const Words& flags, const Words& program);

// `muster run` of `ranks` processes that do `steps`. `flags` say which coordinator; one of its own
// is the real musterd.
std::unique_ptr<Process> Launch(int ranks, const Words& steps, const Words& flags = {},
                                const Variables& env = {});
// The same, for a daemon that runs.
std::unique_ptr<Process> LaunchAt(const TestDaemon& daemon, int ranks, const Words& steps,
                                  const Words& flags = {});

// One process of a job, without a launcher. `rank`: what it asks for; below 0: nothing.
std::unique_ptr<Process> StartRank(const std::string& coordinator, int rank, const Words& steps,
                                   Variables env = {});
std::vector<std::unique_ptr<Process>> StartRanks(const std::string& coordinator, int ranks,
                                                 const Words& steps, const Variables& env = {});

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

// The sentence that begins with "rank R (node '" or "rank R (host " in `text`, to the end of its
// line.
std::string SentenceAbout(int rank, const std::string& text);

// What `muster status` prints.
std::string MusterStatus(const TestDaemon& daemon);

// The processes of one job, each with its own output, and a daemon of their own, without a
// launcher: for tests that look at each of them. Rank r is on the node "node-(r / per_node)". A
// process that ends without leaving is lost 300 ms later, unless the daemon is told otherwise.
class Ranks {
 public:
  // They run `command`. `env` is added to what each of them finds in its environment, and that of
  // `env_by_rank` to what one of them does. `daemon_flags` are musterd's, beside the world size.
  Ranks(int size, int per_node, const Words& command, const Variables& env = {},
        const std::map<int, Variables>& env_by_rank = {},
        const Words& daemon_flags = {"--member-grace=300ms"});

  int size() const { return static_cast<int>(processes_.size()); }
  TestDaemon& daemon() const { return *daemon_; }
  Process& operator[](int rank) const { return *processes_[rank]; }

  // How they have ended, and what they have written until then. Wait for that.
  Exit exit(int rank) const { return processes_[rank]->Wait(); }
  std::vector<Exit> exits() const;
  std::string output(int rank) const;
  std::vector<std::string> outputs() const;

 private:
  std::unique_ptr<TestDaemon> daemon_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_RANKS_H_
