#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/observe/proc/proc.h"

// The files of a hang bundle. All of them are bounded in bytes and in time, and redact.h removes
// the secrets that can be recognized by their names.
namespace muster::observe {

struct File {
  std::string name;  // "rank-3/threads.txt"
  std::string content;
};

inline constexpr size_t kMaxRankBytes = 256 << 10;
inline constexpr size_t kMaxNodeBytes = 4 << 20;  // the files of all ranks and of the node together

// Cuts a text that is too long after a whole line, and adds a line that says so.
std::string TruncateText(std::string text, size_t max_bytes);

// Returns the last whole lines of a text, at most `max_bytes`. A partial first line is dropped,
// because the part before it may have been what marks a secret ("token=").
std::string LastLines(absl::string_view text, size_t max_bytes);

// Returns the files about the process that does a rank's work: threads with their kernel stacks,
// descriptors, limits, environment and command line. Only reads /proc.
std::vector<File> ProcessFiles(pid_t pid, const std::vector<std::pair<ThreadStat, int>>& threads);

// Returns the stacks of all threads, from gdb or eu-stack, and from py-spy for Python, as far as
// these are installed and may attach. They stop the process while they read, and it continues even
// if one of them is killed. Returns no stacks if the process is stopped, or if one of its threads
// is uninterruptible (state D). Blocks for at most `timeout`.
std::vector<File> StackFiles(pid_t pid, absl::Duration timeout);
// Returns whether StackFiles() runs for this process now. A stop of the process is then a
// debugger's, and short. Thread-safe.
bool IsBeingDebugged(pid_t pid);

// Returns the files about the node: memory, pressure, driver, and the report of NCCL's RAS.
std::vector<File> NodeFiles(const std::vector<pid_t>& ranks, absl::Duration timeout);
// Returns how full the node's disks are, including the disks of the ranks' working folders. Blocks
// forever if a file system does not answer.
File DiskFile(const std::vector<pid_t>& ranks);

// Cuts the longest files until all together have at most `max_bytes`.
void Shrink(std::vector<File>* files, size_t max_bytes);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_BUNDLE_H_
