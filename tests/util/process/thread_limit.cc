#include "tests/util/process/thread_limit.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "absl/strings/match.h"

namespace muster::testing {
namespace {

std::atomic<bool> limited{false};
std::atomic<int> left{0};
std::atomic<bool> refused{false};

using Start = void* (*)(void*);

// Returns whether a std::thread begins with `start`. Every std::thread begins in the C++ library.
bool IsOfCxx(Start start) {
  Dl_info info = {};
  return dladdr(reinterpret_cast<void*>(start), &info) != 0 &&
         absl::StrContains(info.dli_fname, "libstdc++");
}

bool MayBegin(Start start) {
  if (!limited || !IsOfCxx(start) || left-- > 0) return true;
  refused = true;
  return false;
}

}  // namespace

ThreadLimit::ThreadLimit(int more) {
  left = more;
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
  return muster::testing::MayBegin(start) ? create(thread, attributes, start, argument) : EAGAIN;
}
