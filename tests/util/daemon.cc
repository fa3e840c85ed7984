#include "tests/util/daemon.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace muster::testing {
namespace {

constexpr absl::Duration kPoll = absl::Milliseconds(2);
constexpr absl::Duration kStartTimeout = absl::Seconds(60);

}  // namespace

std::unique_ptr<TestDaemon> TestDaemon::Start(const std::vector<std::string>& flags,
                                              const std::map<std::string, std::string>& env,
                                              const std::string& listen) {
  const std::string port_file = absl::StrCat(MakeTempDir(), "/port");
  std::vector<std::string> argv = {MusterdPath(), absl::StrCat("--listen=", listen),
                                   absl::StrCat("--port-file=", port_file)};
  argv.insert(argv.end(), flags.begin(), flags.end());
  std::unique_ptr<TestDaemon> daemon(new TestDaemon(Process::Start(argv, env), port_file));
  if (!daemon->AwaitPort()) return nullptr;
  return daemon;
}

std::string TestDaemon::address() const { return absl::StrCat("127.0.0.1:", port_); }

TestDaemon::TestDaemon(std::unique_ptr<Process> process, std::string port_file)
    : process_(std::move(process)), port_file_(std::move(port_file)) {}

bool TestDaemon::AwaitPort() {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  while (process_->Running() && absl::Now() < deadline) {
    if (std::ifstream(port_file_) >> port_) return true;
    absl::SleepFor(kPoll);
  }
  ADD_FAILURE() << "musterd did not start; its output:\n" << process_->Output();
  return false;
}

std::string MusterdPath() { return Runfile("server/musterd"); }

}  // namespace muster::testing
