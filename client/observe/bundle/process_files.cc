// Files from /proc about one process.

#include <dirent.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/observe/bundle/bundle.h"
#include "client/observe/bundle/redact.h"
#include "client/observe/proc/locks.h"
#include "client/observe/proc/proc.h"
#include "client/observe/proc/system_calls.h"

namespace muster::observe {
namespace {

constexpr size_t kMaxThreadsBytes = 64 << 10;
constexpr size_t kMaxDescriptors = 512;
constexpr size_t kMaxProcessFileBytes = 16 << 10;
constexpr size_t kMaxEnvironmentBytes = 1 << 20;  // before Fingerprint() selects

std::vector<std::string> ZeroEnded(const std::string& text) {
  std::vector<std::string> parts = absl::StrSplit(text, '\0');
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

std::string DescribeThread(pid_t pid, const ThreadStat& thread, int cpu_percent) {
  std::string text = absl::StrCat(NameOfThread(pid, thread.tid), ": state ",
                                  std::string(1, thread.state), ", ", cpu_percent, " % CPU");
  // Does not retry for computing threads: there may be many.
  const std::optional<SystemCall> call =
      thread.state == 'R' ? SystemCallOf(pid, thread.tid) : AwaitSystemCall(pid, thread.tid);
  if (call) {
    const std::string target = TargetOf(thread.tid, *call);
    absl::StrAppend(&text, call->number < 0 ? ", in no system call" : ", in ",
                    SystemCallName(call->number), call->number < 0 ? "" : "()",
                    target.empty() ? "" : absl::StrCat(" of ", target));
  }
  const std::string chain = Describe(pid, FollowLocks(pid, thread.tid));
  if (!chain.empty()) absl::StrAppend(&text, ", waits for ", chain);
  absl::StrAppend(&text, "\n");
  // Only root can read it.
  const std::string stack =
      ReadFile(absl::StrCat("/proc/", pid, "/task/", thread.tid, "/stack"), kMaxProcessFileBytes);
  const std::string function = KernelFunctionOf(pid, thread.tid);
  if (stack.empty() && !function.empty()) absl::StrAppend(&text, "  at ", function, "()\n");
  for (absl::string_view line : absl::StrSplit(stack, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text, "  ", line, "\n");
  }
  return text;
}

std::string DescribeThreads(pid_t pid, const std::vector<std::pair<ThreadStat, int>>& threads) {
  std::string text;
  for (const auto& [thread, cpu_percent] : threads) {
    if (text.size() > kMaxThreadsBytes) break;
    absl::StrAppend(&text, DescribeThread(pid, thread, cpu_percent));
  }
  return TruncateText(std::move(text), kMaxThreadsBytes);
}

std::string DescribeDescriptors(pid_t pid) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(
      opendir(absl::StrCat("/proc/", pid, "/fd").c_str()), closedir);
  if (folder == nullptr) return "";
  std::string text;
  size_t count = 0;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string target = ReadLink(absl::StrCat("/proc/", pid, "/fd/", entry->d_name));
    if (target.empty()) continue;
    if (++count > kMaxDescriptors) continue;
    absl::StrAppend(&text, entry->d_name, " ", target, "\n");
  }
  return absl::StrCat(count, " open\n", text);
}

}  // namespace

std::vector<File> ProcessFiles(pid_t pid, const std::vector<std::pair<ThreadStat, int>>& threads) {
  const std::string proc = absl::StrCat("/proc/", pid, "/");
  const auto lines = [](const std::vector<std::string>& all) {
    return TruncateText(absl::StrCat(absl::StrJoin(all, "\n"), "\n"), kMaxProcessFileBytes);
  };
  std::vector<File> files;
  files.push_back({"threads.txt", DescribeThreads(pid, threads)});
  files.push_back(
      {"descriptors.txt", TruncateText(DescribeDescriptors(pid), kMaxProcessFileBytes)});
  files.push_back({"status.txt", ReadFile(proc + "status", kMaxProcessFileBytes)});
  files.push_back({"limits.txt", ReadFile(proc + "limits", kMaxProcessFileBytes)});
  files.push_back(
      {"environment.txt",
       lines(Fingerprint(ZeroEnded(ReadFile(proc + "environ", kMaxEnvironmentBytes))))});
  files.push_back({"command.txt", lines(RedactArguments(ZeroEnded(ReadFile(proc + "cmdline"))))});
  return files;
}

}  // namespace muster::observe
