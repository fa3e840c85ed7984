#ifndef MUSTER_CLIENT_OBSERVE_BUNDLE_H_
#define MUSTER_CLIENT_OBSERVE_BUNDLE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/observe/proc.h"

// The texts of a hang bundle. All are bounded, in bytes and in time, and hold no secret that could
// be told by its name: redact.h.
namespace muster::observe {

struct File {
  std::string name;  // "rank-3/threads.txt"
  std::string content;
};

inline constexpr size_t kMaxRankBytes = 256 << 10;
inline constexpr size_t kMaxNodeBytes = 4 << 20;  // of all ranks, and what is the node's

// Cuts the text at whole lines where it is too long, and says so.
std::string Bounded(std::string text, size_t max_bytes);

// The last whole lines of a text, at most so many bytes. Where the text is longer, what its first
// line begins with is not known, and may be what tells that a secret follows.
std::string LastLines(absl::string_view text, size_t max_bytes);

// What there is to know of one process, which does a rank's work: its threads with their kernel
// stacks, descriptors, limits, environment and command line. Reads /proc, and no more.
std::vector<File> ProcessFiles(pid_t pid, const std::vector<std::pair<ThreadStat, int>>& threads);

// The stacks of all its threads in its own code, by gdb or eu-stack, and by py-spy where it is
// Python; where these are installed, and may look at it. They stop the process while they look; if
// one is killed over it, the process goes on. None looks at a process that is stopped, or of which
// a thread is in a call that no signal ends. Blocks for `timeout` at most.
std::vector<File> StackFiles(pid_t pid, absl::Duration timeout);
// Whether that happens to the process at this moment: a stop of it is a debugger's, and short.
// Thread-safe.
bool IsBeingDebugged(pid_t pid);

// The node's: memory, pressure, driver, and what NCCL's RAS says.
std::vector<File> NodeFiles(const std::vector<pid_t>& ranks, absl::Duration timeout);
// How full its disks are, those of the ranks' folders too. A file system that does not answer
// blocks it for good.
File DiskFile(const std::vector<pid_t>& ranks);

// So that all together have at most `max_bytes`: the longest are cut first.
void Shrink(std::vector<File>* files, size_t max_bytes);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BUNDLE_H_
