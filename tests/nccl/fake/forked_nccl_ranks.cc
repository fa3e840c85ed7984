#include "tests/nccl/fake/forked_nccl_ranks.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "gtest/gtest.h"
#include "tests/util/process/process.h"

// LeakSanitizer's, if the program is built with it.
extern "C" int __lsan_do_recoverable_leak_check() __attribute__((weak));

namespace muster::testing {
namespace {

constexpr unsigned kPollMicroseconds = 1000;

// Looks for leaks, which _exit() does not, and reports them on standard error.
bool HasLeaked() {
  return __lsan_do_recoverable_leak_check != nullptr && __lsan_do_recoverable_leak_check() != 0;
}

pid_t Fork(int rank, const std::function<void(int, IdExchange&)>& body, IdExchange* exchange,
           const std::map<std::string, std::string>& env, const std::string& output) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (std::freopen(output.c_str(), "w", stderr) == nullptr) _exit(1);
  if (std::freopen(output.c_str(), "a", stdout) == nullptr) _exit(1);
  for (const auto& [name, value] : env) setenv(name.c_str(), value.c_str(), 1);
  body(rank, *exchange);
  std::fflush(nullptr);
  _exit(::testing::Test::HasFailure() || HasLeaked() ? 1 : 0);
}

}  // namespace

void IdExchange::Put(int slot, const ncclUniqueId& id) {
  ids_[slot] = id;
  __atomic_store_n(&put_[slot], 1, __ATOMIC_RELEASE);
}

ncclUniqueId IdExchange::Get(int slot) {
  while (__atomic_load_n(&put_[slot], __ATOMIC_ACQUIRE) == 0) usleep(kPollMicroseconds);
  return ids_[slot];
}

void IdExchange::AwaitAll(int count) {
  __atomic_add_fetch(&arrived_, 1, __ATOMIC_ACQ_REL);
  while (__atomic_load_n(&arrived_, __ATOMIC_ACQUIRE) < count) usleep(kPollMicroseconds);
}

std::vector<RankExit> RunForked(int size, const std::function<void(int, IdExchange&)>& body,
                                const std::map<std::string, std::string>& env) {
  void* const shared =
      mmap(nullptr, sizeof(IdExchange), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const exchange = new (shared) IdExchange();
  const std::string directory = MakeTempDir();
  std::vector<pid_t> pids;
  for (int rank = 0; rank < size; ++rank) {
    pids.push_back(Fork(rank, body, exchange, env, directory + "/" + std::to_string(rank)));
  }
  std::vector<RankExit> ends(size);
  for (int rank = 0; rank < size; ++rank) {
    waitpid(pids[rank], &ends[rank].status, 0);
    ends[rank].output = ReadFile(directory + "/" + std::to_string(rank));
  }
  munmap(shared, sizeof(IdExchange));
  return ends;
}

void ExpectForked(int size, const std::function<void(int, IdExchange&)>& body,
                  const std::map<std::string, std::string>& env) {
  const std::vector<RankExit> ends = RunForked(size, body, env);
  for (int rank = 0; rank < size; ++rank) {
    EXPECT_EQ(ends[rank].status, 0) << "rank " << rank << ":\n" << ends[rank].output;
  }
}

}  // namespace muster::testing
