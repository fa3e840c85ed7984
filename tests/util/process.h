#ifndef MUSTER_TESTS_UTIL_PROCESS_H_
#define MUSTER_TESTS_UTIL_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::testing {

// How a process ended.
struct Exit {
  bool signaled = false;
  int code = 0;  // exit status, or the signal's number
  friend bool operator==(const Exit& a, const Exit& b) {
    return a.signaled == b.signaled && a.code == b.code;
  }
};
std::ostream& operator<<(std::ostream& out, const Exit& exit);

// A real child process whose standard output and error go to one file. Killed, with the process
// group it leads, when the object goes.
class Process {
 public:
  // `env` is added to this process's environment, less the variables of every launcher.
  static std::unique_ptr<Process> Start(const std::vector<std::string>& argv,
                                        const std::map<std::string, std::string>& env = {});
  ~Process();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // Sends SIGSTOP and waits until every thread of the process has stopped, or the process has
  // ended.
  void Stop() const;
  // Waits for its end; a test failure names the process and shows its output when it takes longer.
  Exit Wait(absl::Duration timeout = absl::Seconds(60));
  bool Running();
  // All it has written so far.
  std::string Output() const;
  // Waits until the output contains `text`; false (and a test failure) at the time-out or the
  // process's end.
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

// A file that the test's BUILD rule names in `data`, by its path from the workspace's root.
std::string Runfile(const std::string& path);

// A fresh directory that goes with the test.
std::string MakeTempDir();

// What the file holds; empty if it cannot be read.
std::string ReadFile(const std::string& path);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_H_
