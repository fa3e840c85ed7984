#include "client/launcher/binding/layout_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/launcher/binding/gpu_cpus.h"
#include "client/launcher/binding/hwloc_cores.h"
#include "common/process/cpu_affinity.h"
#include "common/process/steady_now.h"
#include "common/text/number_ranges.h"

namespace muster::launcher {
namespace {

// Longer than a driver without persistence takes to open eight GPUs.
constexpr absl::Duration kPatience = absl::Seconds(60);
constexpr char kEnd[] = "end\n";

[[noreturn]] void RunChild(const std::function<absl::StatusOr<NodeLayout>()>& read, int fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string text = PackLayout(read());
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t size = write(fd, text.data() + sent, text.size() - sent);
    if (size < 0 && errno != EINTR) break;
    sent += static_cast<size_t>(std::max<ssize_t>(size, 0));
  }
  _exit(0);
}

// Returns all that comes until the end of file, or nullopt if that does not come.
std::optional<std::string> ReadAll(int fd, absl::Duration patience) {
  const absl::Time deadline = SteadyNow() + patience;
  std::string text;
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - SteadyNow());
    if (left <= 0) return std::nullopt;
    pollfd waiting = {fd, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(left)) <= 0) continue;
    char buffer[4096];
    const ssize_t size = read(fd, buffer, sizeof(buffer));
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
    if (size == 0) return text;
    if (size < 0 && errno != EINTR) return std::nullopt;
  }
}

absl::StatusOr<NodeLayout> ReadHere() {
  setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);  // its plug-ins open GPUs
  setenv("HWLOC_HIDE_ERRORS", "2", 1);           // it prints them
  absl::StatusOr<NodeLayout> layout = ReadCores(CpusOf(getpid()));
  if (!layout.ok()) return layout;
  const char* const visible = getenv("CUDA_VISIBLE_DEVICES");
  layout->gpus = CpusNearGpus(visible == nullptr ? std::optional<std::string>() : visible);
  return layout;
}

}  // namespace

absl::StatusOr<NodeLayout> ReadInChild(const std::function<absl::StatusOr<NodeLayout>()>& read,
                                       absl::Duration patience) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::UnavailableError("cannot create a pipe");
  const pid_t pid = fork();
  if (pid == 0) RunChild(read, fds[1]);
  close(fds[1]);
  const std::optional<std::string> text = pid < 0 ? std::nullopt : ReadAll(fds[0], patience);
  close(fds[0]);
  if (pid < 0) return absl::UnavailableError("cannot start a process");
  if (!text) kill(pid, SIGKILL);
  // A process that hangs in the driver does not die of SIGKILL, and is not waited for.
  waitpid(pid, nullptr, text ? 0 : WNOHANG);
  if (text) return UnpackLayout(*text);
  return absl::UnavailableError(absl::StrCat("hwloc and NVML have not answered for ",
                                             absl::FormatDuration(patience),
                                             "; does nvidia-smi answer?"));
}

absl::StatusOr<NodeLayout> ReadThisNode() { return ReadInChild(ReadHere, kPatience); }

std::string PackLayout(const absl::StatusOr<NodeLayout>& layout) {
  if (!layout.ok()) return absl::StrCat("error ", layout.status().message(), "\n", kEnd);
  std::string text;
  for (const Core& core : layout->cores) {
    absl::StrAppend(&text, "core ", core.numa, " ", NumberRanges(core.cpus), "\n");
  }
  for (const Cpus& cpus : layout->numa_nodes) {
    absl::StrAppend(&text, "numa ", NumberRanges(cpus), "\n");
  }
  for (const Cpus& cpus : layout->gpus) absl::StrAppend(&text, "gpu ", NumberRanges(cpus), "\n");
  return text + kEnd;
}

absl::StatusOr<NodeLayout> UnpackLayout(absl::string_view text) {
  if (!absl::ConsumeSuffix(&text, kEnd)) {
    return absl::UnavailableError("the process that reads the machine's topology has died");
  }
  NodeLayout layout;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "error ")) return absl::UnavailableError(line);
    if (absl::ConsumePrefix(&line, "core ")) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(line, absl::MaxSplits(' ', 1));
      int numa = 0;
      if (!absl::SimpleAtoi(parts.first, &numa)) continue;
      layout.cores.push_back({ParseNumberRanges(parts.second), numa});
    } else if (absl::ConsumePrefix(&line, "numa ")) {
      layout.numa_nodes.push_back(ParseNumberRanges(line));
    } else if (absl::ConsumePrefix(&line, "gpu ")) {
      layout.gpus.push_back(ParseNumberRanges(line));
    }
  }
  return layout;
}

}  // namespace muster::launcher
