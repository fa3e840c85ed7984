#ifndef MUSTER_TESTS_UTIL_PROCESS_PROCESS_H_
#define MUSTER_TESTS_UTIL_PROCESS_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::testing {

// The end of a process: an exit status or a signal.
struct Exit {
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number
  friend bool operator==(const Exit& a, const Exit& b) {
    return a.signaled == b.signaled && a.code == b.code;
  }
};
std::ostream& operator<<(std::ostream& out, const Exit& exit);

// A real child process, whose standard output and error go to one file. The destructor kills its
// process group.
class Process {
 public:
  // Starts a process. Its environment is this process's, without the variables of any launcher, and
  // with `env`.
  static std::unique_ptr<Process> Start(const std::vector<std::string>& argv,
                                        const std::map<std::string, std::string>& env = {});
  ~Process();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Sends SIGSTOP, and blocks until every thread of the process has stopped or the process has
  // ended.
  void Stop() const;
  // Waits for the end of the process. At the time-out, fails the test with the process's command
  // and output.
  Exit Wait(absl::Duration timeout = absl::Seconds(60));
  bool Running();
  // Returns all output so far.
  std::string Output() const;
  // Blocks until the output contains `text`. If the time is over or the process ends first, fails
  // the test and returns false.
  bool WaitForOutput(const std::string& text, absl::Duration timeout = absl::Seconds(60));

 private:
  Process(pid_t pid, std::string name, std::string output_path);
  bool Reap(bool block);

  pid_t pid_;
  std::string name_;
  std::string output_path_;
  bool ended_ = false;
  Exit exit_;
};

// Returns the path of a file in the test's `data`, given its path in the workspace.
std::string Runfile(const std::string& path);

// Returns a new directory, which is removed with the test.
std::string MakeTempDir();

// Returns the file's content, or "" if it cannot be read.
std::string ReadFile(const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_PROCESS_H_
