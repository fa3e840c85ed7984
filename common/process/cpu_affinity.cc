#include "common/process/cpu_affinity.h"

#include <algorithm>
#include <cerrno>
#include <climits>

namespace muster {
namespace {

constexpr size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
constexpr size_t kFirstWords = 1024 / kWordBits;
constexpr size_t kMaxWords = 64 * kFirstWords;

}  // namespace

std::vector<int> CpusOf(pid_t pid) {
  // The kernel says EINVAL for a set that is smaller than its own.
  for (size_t size = kFirstWords; size <= kMaxWords; size *= 2) {
    std::vector<unsigned long> words(size);
    const size_t bytes = size * sizeof(words[0]);
    if (sched_getaffinity(pid, bytes, reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
      std::vector<int> cpus;
      for (size_t cpu = 0; cpu < size * kWordBits; ++cpu) {
        if (words[cpu / kWordBits] >> (cpu % kWordBits) & 1) cpus.push_back(static_cast<int>(cpu));
      }
      return cpus;
    }
    if (errno != EINVAL) break;
  }
  return {};
}

CpuMask::CpuMask(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    const size_t word = static_cast<size_t>(cpu) / kWordBits;
    words_.resize(std::max(words_.size(), word + 1));
    words_[word] |= 1UL << (static_cast<size_t>(cpu) % kWordBits);
  }
}

}  // namespace muster
