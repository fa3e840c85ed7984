#ifndef MUSTER_COMMON_PROCESS_CPU_AFFINITY_H_
#define MUSTER_COMMON_PROCESS_CPU_AFFINITY_H_

#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace muster {

// Says to a rank's process that `muster run` has bound it to CPUs, and how: "core" or "numa".
inline constexpr char kBindToVariable[] = "MUSTER_BIND_TO";

// Returns the CPUs on which the process's main thread may run, ascending, by the kernel's numbers.
// Empty if the kernel does not say.
std::vector<int> CpusOf(pid_t pid);

// A set of CPUs for sched_setaffinity(), with as many bits as the CPUs need. A cpu_set_t ends at
// CPU 1023.
class CpuMask {
 public:
  explicit CpuMask(const std::vector<int>& cpus);

  const cpu_set_t* set() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }
  size_t bytes() const { return words_.size() * sizeof(words_[0]); }

 private:
  std::vector<unsigned long> words_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_CPU_AFFINITY_H_
