#ifndef MUSTER_TESTS_UTIL_DAEMON_H_
#define MUSTER_TESTS_UTIL_DAEMON_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/util/process.h"

namespace muster::testing {

// Waits until a musterd has written its --port-file. 0, and a test failure that shows its output,
// if it ends instead.
int AwaitPort(Process& musterd, const std::string& port_file);

// A real musterd process that listens on a free port of 127.0.0.1. Killed when the object goes.
class TestDaemon {
 public:
  // Listens at return. A test failure shows the daemon's output, and null is returned, if it ended
  // instead. `flags` are those of musterd but for --listen and --port-file.
  static std::unique_ptr<TestDaemon> Start(const std::vector<std::string>& flags = {},
                                           const std::map<std::string, std::string>& env = {},
                                           const std::string& listen = "127.0.0.1:0");
  ~TestDaemon();

  // For MUSTER_COORDINATOR: "127.0.0.1:41234".
  std::string address() const;
  int port() const { return port_; }
  const std::string& port_file() const { return port_file_; }
  Process& process() { return *process_; }

  // kill -9. The port stays reserved for StartAgain(): other processes could be given it meanwhile.
  void Kill();
  // Starts it again after its end, with the same flags, at the same port. Listens at return.
  void StartAgain();

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

// Path of the musterd binary.
std::string MusterdPath();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_DAEMON_H_
