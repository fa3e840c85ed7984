// Compares what the process holds, as the kernel counts it.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

#include "tests/nccl/conformance/rank.h"
#include "tests/nccl/cuda/fake_cuda.h"

namespace fake_cuda {
// Weak, because the program may run on another libcudart than the tests' own.
__attribute__((weak)) Counters CurrentCounters();
}  // namespace fake_cuda

namespace muster::testing {
namespace {

using Holdings = std::map<std::string, int64_t>;

constexpr unsigned kPollMicroseconds = 10000;

void CountFiles(Holdings* holdings) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    ++(*holdings)[target.rfind("socket:", 0) == 0 ? "sockets" : "files"];
  }
}

void CountSharedMemory(Holdings* holdings) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm/") != std::string::npos) ++(*holdings)["shared-memory"];
  }
}

Holdings Now() {
  Holdings holdings;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (entry.is_directory()) ++holdings["threads"];
  }
  CountFiles(&holdings);
  CountSharedMemory(&holdings);
  if (fake_cuda::CurrentCounters != nullptr)
    holdings["device-memory"] = fake_cuda::CurrentCounters().device_allocations;
  return holdings;
}

std::string Excess(const Holdings& before) {
  std::string kinds;
  for (const auto& [kind, count] : Now()) {
    const auto it = before.find(kind);
    if (count <= (it == before.end() ? 0 : it->second)) continue;
    kinds += (kinds.empty() ? "" : " ") + kind;
  }
  return kinds.empty() ? "nothing" : kinds;
}

}  // namespace

std::string AnswerHeld(const Command& command) {
  static Holdings* const kMark = new Holdings();
  if (command.verb == "mark") {
    *kMark = Now();
    return "marked";
  }
  // Threads may still be about to exit.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  std::string excess = Excess(*kMark);
  while (excess != "nothing" && std::chrono::steady_clock::now() < end) {
    usleep(kPollMicroseconds);
    excess = Excess(*kMark);
  }
  return excess;
}

}  // namespace muster::testing
