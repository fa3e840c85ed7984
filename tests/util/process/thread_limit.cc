#include "tests/util/process/thread_limit.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"

namespace muster::testing {
namespace {

std::atomic<bool> limited{false};
std::atomic<bool> of_all_threads{false};
std::atomic<int> left{0};
std::atomic<int> limits{0};  // how many there have been
std::atomic<bool> refused{false};

using Start = void* (*)(void*);

// Returns whether a std::thread begins with `start`. Every std::thread begins in the C++ library.
bool IsOfCxx(Start start) {
  Dl_info info = {};
  return dladdr(reinterpret_cast<void*>(start), &info) != 0 &&
         absl::StrContains(info.dli_fname, "libstdc++");
}

bool Counts(Start start) { return limited && (of_all_threads || IsOfCxx(start)); }

// Takes one of the threads that are left.
bool TakePlace() {
  if (left-- > 0) return true;
  ++left;
  refused = true;
  return false;
}

// A thread that gives its place back when it ends.
struct CountedThread {
  Start start;
  void* argument;
  int limit;  // the value of `limits`
};

void* Run(void* thread) {
  const std::unique_ptr<CountedThread> counted(static_cast<CountedThread*>(thread));
  void* const result = counted->start(counted->argument);
  if (counted->limit == limits) ++left;
  return result;
}

}  // namespace

ThreadLimit::ThreadLimit(int more, Of of) {
  ++limits;
  left = more;
  of_all_threads = of == Of::kAllThreads;
  refused = false;
  limited = true;
}

ThreadLimit::~ThreadLimit() { Lift(); }

void ThreadLimit::Lift() { limited = false; }

bool ThreadLimit::reached() const { return refused; }

}  // namespace muster::testing

// Comes before the C library's function, for libraries too, since the program exports it.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              muster::testing::Start start, void* argument) {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  using muster::testing::CountedThread;
  if (!muster::testing::Counts(start)) return create(thread, attributes, start, argument);
  if (!muster::testing::TakePlace()) return EAGAIN;
  auto counted =
      std::make_unique<CountedThread>(CountedThread{start, argument, muster::testing::limits});
  const int result = create(thread, attributes, muster::testing::Run, counted.get());
  if (result == 0) counted.release();
  return result;
}
