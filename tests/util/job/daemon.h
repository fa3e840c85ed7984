#ifndef MUSTER_TESTS_UTIL_JOB_DAEMON_H_
#define MUSTER_TESTS_UTIL_JOB_DAEMON_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/process/process.h"

namespace muster::testing {

// Waits until a musterd has written its --port-file, and returns the port. If the process ends
// instead, fails the test with its output, and returns 0.
int AwaitPort(Process& musterd, const std::string& port_file);

// A real musterd process that listens on a free port of 127.0.0.1. The destructor kills it.
//
//   const auto daemon = TestDaemon::Start({"--member-grace=300ms"});
//   ASSERT_NE(daemon, nullptr);
//   options.coordinator = daemon->address();
class TestDaemon {
 public:
  // Starts the daemon, and returns once it listens. If the process ends instead, fails the test
  // with its output, and returns null. `flags` are musterd's, except for --listen and --port-file.
  static std::unique_ptr<TestDaemon> Start(const std::vector<std::string>& flags = {},
                                           const std::map<std::string, std::string>& env = {},
                                           const std::string& listen = "127.0.0.1:0");
  ~TestDaemon();

  // Returns "127.0.0.1:41234", for MUSTER_COORDINATOR.
  std::string address() const;
  int port() const { return port_; }
  const std::string& port_file() const { return port_file_; }
  Process& process() { return *process_; }

  // Kills the daemon (SIGKILL). Reserves the port for Restart(), so that no other process gets
  // it meanwhile.
  void Kill();
  // Starts the daemon again with the same flags at the same port. Returns once it listens.
  void Restart();

 private:
  TestDaemon(std::vector<std::string> flags, std::map<std::string, std::string> env);
  void Listen(const std::string& listen);
  void ReservePort();
  void ReleasePort();

  const std::vector<std::string> flags_;
  const std::map<std::string, std::string> env_;
  const std::string port_file_;
  std::unique_ptr<Process> process_;
  int port_ = 0;
  int reservation_ = -1;  // a socket that is bound to the port and does not listen
};

// Returns the path of the musterd binary.
std::string MusterdPath();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_JOB_DAEMON_H_
