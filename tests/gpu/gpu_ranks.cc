#include "tests/gpu/gpu_ranks.h"

#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/process/wait_until.h"

namespace muster::gpu {
namespace {

constexpr absl::Duration kKillTimeout = absl::Seconds(20);

std::string VariableOr(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

}  // namespace

std::map<std::string, std::string> SharedGpuEnvironment() {
  return {{"MUSTER_ALLOW_SHARED_GPU", "1"},
          {"CUDA_VISIBLE_DEVICES", VariableOr("CUDA_VISIBLE_DEVICES", "0")},
          {"NCCL_SOCKET_IFNAME", VariableOr("NCCL_SOCKET_IFNAME", "lo")}};
}

void Echo::ShowNew() {
  const std::string output = process_.Output();
  for (size_t end; (end = output.find('\n', shown_)) != std::string::npos; shown_ = end + 1) {
    std::cout << "    " << output.substr(shown_, end - shown_) << std::endl;
  }
}

std::unique_ptr<Ranks> Ranks::Start(int size, const std::vector<std::string>& command) {
  std::unique_ptr<Ranks> ranks(new Ranks);
  ranks->daemon_ = testing::TestDaemon::Start({absl::StrCat("--world-size=", size)});
  if (ranks->daemon_ == nullptr) return nullptr;
  for (int rank = 0; rank < size; ++rank) {
    std::map<std::string, std::string> env = SharedGpuEnvironment();
    env["MUSTER_COORDINATOR"] = ranks->daemon_->address();
    env["MUSTER_RANK"] = absl::StrCat(rank);
    env["NCCL_HOSTID"] = absl::StrCat("gpu-test-", rank);
    ranks->processes_.push_back(testing::Process::Start(command, env));
  }
  return ranks;
}

bool Ranks::Running() {
  bool running = false;
  for (const auto& process : processes_) running |= process->Running();
  return running;
}

std::vector<testing::Exit> Ranks::Wait(absl::Duration timeout) {
  Echo echo(*processes_[0]);
  const auto ended = [&] {
    echo.ShowNew();
    return !Running();
  };
  if (!testing::WaitUntil(ended, timeout)) {
    ADD_FAILURE() << "the ranks have not ended in " << timeout;
    for (const auto& process : processes_) process->Signal(SIGKILL);
  }
  echo.ShowNew();
  std::vector<testing::Exit> exits;
  for (const auto& process : processes_) exits.push_back(process->Wait(kKillTimeout));
  return exits;
}

std::string Ranks::OthersOutput() const {
  std::string output;
  for (size_t rank = 1; rank < processes_.size(); ++rank) {
    absl::StrAppend(&output, "--- rank ", rank, ":\n", processes_[rank]->Output());
  }
  return output;
}

}  // namespace muster::gpu
