#include "tests/util/daemon.h"

#include <signal.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/wait_until.h"

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

void TestDaemon::Kill() {
  process_->Signal(SIGKILL);
  process_->Wait();
  std::remove(port_file_.c_str());
}

void TestDaemon::StartAgain() { Listen(address()); }

std::string MusterdPath() { return Runfile("server/musterd"); }

}  // namespace muster::testing
