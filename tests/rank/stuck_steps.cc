// Steps in which a process makes no progress. Most never end: the test ends the process.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/barrier.h"
#include "tests/rank/interpreter.h"
#include "tests/rank/steps.h"

namespace muster::testing {
namespace {

// Opens a named pipe. This process is a writer too, so the reader gets no end of file.
int OpenPipe(const std::string& path) {
  mkfifo(path.c_str(), 0600);
  return open(path.c_str(), O_RDWR | O_CLOEXEC);
}

absl::Status Read(const std::string& path) {
  const int fd = OpenPipe(path);
  char byte = 0;
  const ssize_t size = read(fd, &byte, 1);
  close(fd);
  return Expect(size == 1, "read");
}

absl::Status Compute(const std::string& file) {
  struct stat ignored;
  while (stat(file.c_str(), &ignored) != 0) {
    for (volatile int i = 0; i < 10'000'000; i = i + 1) {
    }
  }
  return absl::OkStatus();
}

// Makes two threads each wait for what the other one holds.
absl::Status DeadLock() {
  std::mutex first;
  std::mutex second;
  absl::Barrier* const both_hold_one = new absl::Barrier(3);
  const auto take = [both_hold_one](std::mutex* mine, std::mutex* other) {
    const std::lock_guard<std::mutex> lock(*mine);
    both_hold_one->Block();
    const std::lock_guard<std::mutex> never(*other);
  };
  std::thread one(take, &first, &second);
  std::thread other(take, &second, &first);
  both_hold_one->Block();
  one.join();
  other.join();
  return absl::OkStatus();
}

absl::Status FillOutput() {
  const std::string line(4095, 'x');
  while (true) Print(line);
}

// A parent is in state D, out of reach of signals, until the child of its vfork() has executed a
// program. No other way to state D needs no disk that hangs.
absl::Status SleepUninterruptibly(const std::string& path) {
  const int fd = OpenPipe(path);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork)
#pragma GCC diagnostic pop
  if (child == 0) {
    char byte = 0;
    [[maybe_unused]] const ssize_t size = read(fd, &byte, 1);
    _exit(0);
  }
  close(fd);
  return Expect(child > 0, "vfork");
}

absl::Status PairBarrier(Job& job) {
  auto pair = job.NewGroup("pair", {0, 1});
  RETURN_IF_ERROR(pair.status());
  return pair->Barrier("in a pair");
}

}  // namespace

Steps StuckSteps() {
  return {
      {"read", [](Job&, const std::string& path) { return Read(path); }},
      {"compute", [](Job&, const std::string& file) { return Compute(file); }},
      {"dead-lock", [](Job&, const std::string&) { return DeadLock(); }},
      {"fill-output", [](Job&, const std::string&) { return FillOutput(); }},
      {"uninterruptible", [](Job&, const std::string& path) { return SleepUninterruptibly(path); }},
      {"pair-barrier", [](Job& job, const std::string&) { return PairBarrier(job); }},
  };
}

}  // namespace muster::testing
