#include "tests/util/job/daemon.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

namespace muster::testing {
int AwaitPort(Process& musterd, const std::string& port_file) {
  int port = 0;
  const auto listens = [&] { return static_cast<bool>(std::ifstream(port_file) >> port); };
  WaitUntil([&] { return listens() || !musterd.Running(); });
  if (port != 0) return port;
  ADD_FAILURE() << "musterd did not start; its output:\n" << musterd.Output();
  return 0;
}

std::unique_ptr<TestDaemon> TestDaemon::Start(const std::vector<std::string>& flags,
                                              const std::map<std::string, std::string>& env,
                                              const std::string& listen) {
  std::unique_ptr<TestDaemon> daemon(new TestDaemon(flags, env));
  daemon->Listen(listen);
  if (daemon->port_ == 0) return nullptr;
  return daemon;
}

std::string TestDaemon::address() const { return absl::StrCat("127.0.0.1:", port_); }

TestDaemon::TestDaemon(std::vector<std::string> flags, std::map<std::string, std::string> env)
    : flags_(std::move(flags)),
      env_(std::move(env)),
      port_file_(absl::StrCat(MakeTempDir(), "/port")) {}

void TestDaemon::Listen(const std::string& listen) {
  std::vector<std::string> argv = {MusterdPath(), absl::StrCat("--listen=", listen),
                                   absl::StrCat("--port-file=", port_file_)};
  argv.insert(argv.end(), flags_.begin(), flags_.end());
  process_ = Process::Start(argv, env_);
  port_ = AwaitPort(*process_, port_file_);
}

TestDaemon::~TestDaemon() { ReleasePort(); }

void TestDaemon::Kill() {
  process_->Signal(SIGKILL);
  process_->Wait();
  ReservePort();
  std::remove(port_file_.c_str());
}

void TestDaemon::Restart() {
  Listen(address());
  ReleasePort();
}

// A bound socket with SO_REUSEADDR keeps the port. The kernel then gives the port to no process
// that asks for any free one, but a musterd can still listen on it.
void TestDaemon::ReservePort() {
  ReleasePort();
  reservation_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(reservation_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port_));
  // Ignores failures: without the reservation, the port is as free as it was before.
  static_cast<void>(bind(reservation_, reinterpret_cast<sockaddr*>(&address), sizeof(address)));
}

void TestDaemon::ReleasePort() {
  if (reservation_ >= 0) close(reservation_);
  reservation_ = -1;
}

std::string MusterdPath() { return Runfile("server/musterd"); }

}  // namespace muster::testing
