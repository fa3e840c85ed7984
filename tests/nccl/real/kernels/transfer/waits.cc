#include "tests/nccl/real/kernels/transfer/waits.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace cpu_nccl {
namespace {

constexpr int kYields = 50;
constexpr int64_t kFirstNanoseconds = 10'000;
constexpr int64_t kLongestNanoseconds = 1'000'000;

}  // namespace

void Pause::Next() {
  if (++turns_ <= kYields) {
    sched_yield();
    return;
  }
  const int doublings = std::min((turns_ - kYields) / 8, 10);
  const int64_t nanoseconds = std::min(kFirstNanoseconds << doublings, kLongestNanoseconds);
  const timespec sleep = {0, nanoseconds};
  nanosleep(&sleep, nullptr);
}

}  // namespace cpu_nccl
