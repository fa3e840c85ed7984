#include "client/launch/fork_check.h"

#include <grpc/grpc.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::internal {
namespace {

namespace fs = std::filesystem;

absl::Status Refuse(absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(
      "muster::Launch() cannot fork this process: ", why,
      "; call it at the start of main(), before creating threads or a muster::Job and before "
      "using CUDA, or start the program with muster run"));
}

// Returns the names of this process's threads.
std::vector<std::string> Threads() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator task("/proc/self/task", error), end; !error && task != end;
       task.increment(error)) {
    std::ifstream file(task->path() / "comm");
    std::getline(file, names.emplace_back());
  }
  return names;
}

bool HasOpenGpu() {
  std::error_code error;
  for (fs::directory_iterator fd("/proc/self/fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    const fs::path target = fs::read_symlink(fd->path(), gone);
    if (!gone && absl::StartsWith(target.string(), "/dev/nvidia")) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckForkable() {
  const std::vector<std::string> threads = Threads();
  if (threads.size() > 1) {
    return Refuse(
        absl::StrCat("it has ", threads.size(), " threads (", absl::StrJoin(threads, ", "), ")"));
  }
  if (threads.empty()) return Refuse("its threads cannot be counted because /proc is not mounted");
  if (grpc_is_initialized() != 0) return Refuse("gRPC is in use, for example by a muster::Job");
  if (HasOpenGpu()) return Refuse("the GPU driver is open, so CUDA is in use");
  return absl::OkStatus();
}

}  // namespace muster::internal
