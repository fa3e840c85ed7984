#include "server/daemon/memory_trimming.h"

#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace muster::daemon {
namespace {

// The least free memory that is trimmed. Less is not worth the time, and is soon needed again.
constexpr int64_t kMinTrimBytes = 16 << 20;
// Trimming holds the allocator's locks, for 100 ms per GB of free memory. If the process has used
// more processor time than this since the last call, it has other work to do, and trimming is put
// off, but at most kMaxDeferrals times.
constexpr absl::Duration kBusy = absl::Milliseconds(200);
constexpr int kMaxDeferrals = 10;

// Returns the resident memory that the allocator has not given out.
int64_t UnusedBytes() {
  int64_t all_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  const struct mallinfo2 heap = mallinfo2();
  return resident_pages * sysconf(_SC_PAGESIZE) - static_cast<int64_t>(heap.uordblks + heap.hblkhd);
}

absl::Duration CpuTime() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return absl::DurationFromTimespec(used);
}

}  // namespace

void SetUpMemory() {
  // Each arena keeps its free memory. The default is eight arenas per processor.
  mallopt(M_ARENA_MAX, 2);
  // Returns large payloads to the system as soon as they are freed. Without this setting, glibc
  // raises the threshold with each freed payload, up to 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
}

bool TrimPolicy::ShouldTrim(int64_t unused, absl::Duration cpu) {
  const bool busy = cpu - cpu_ > kBusy;
  cpu_ = cpu;
  baseline_ = std::min(baseline_, unused);
  if (unused - baseline_ < kMinTrimBytes) return false;
  return !busy || ++deferrals_ >= kMaxDeferrals;
}

void TrimPolicy::Trimmed(int64_t unused) {
  baseline_ = unused;
  deferrals_ = 0;
}

void TrimMemory(TrimPolicy* policy) {
  if (!policy->ShouldTrim(UnusedBytes(), CpuTime())) return;
  malloc_trim(/*pad=*/0);
  policy->Trimmed(UnusedBytes());
}

}  // namespace muster::daemon
