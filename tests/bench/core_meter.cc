#include "tests/bench/core_meter.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name)
#endif

namespace {

bool counting = false;
uint64_t allocated = 0;
uint64_t held = 0;

}  // namespace

// The other variants of operator new call these.
void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const size_t usable = malloc_usable_size(memory);
  held += usable;
  if (counting) allocated += usable;
  return memory;
}

void operator delete(void* memory) noexcept {
  held -= malloc_usable_size(memory);
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace muster::bench {

Phase::Phase(std::string name)
    : name_(std::move(name)), allocated_before_(allocated), held_before_(held) {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

Phase::~Phase() {
  CALLGRIND_DUMP_STATS_AT(name_.c_str());
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%s\t%zu\t%llu\t%lld\n", name_.c_str(), calls_,
              static_cast<unsigned long long>(allocated - allocated_before_),
              static_cast<long long>(held - held_before_));
  std::fflush(stdout);
}

Phase::Counting::Counting() {
  counting = true;
  CALLGRIND_TOGGLE_COLLECT;
}

Phase::Counting::~Counting() {
  CALLGRIND_TOGGLE_COLLECT;
  counting = false;
}

}  // namespace muster::bench
