#include "common/process/start_thread.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace muster {

absl::StatusOr<std::thread> StartThread(absl::string_view task, std::function<void()> run) {
  try {
    return std::thread(std::move(run));
  } catch (const std::system_error& error) {
    return ThreadStartError(task, error);
  }
}

absl::Status StartDetachedThread(absl::string_view task, std::function<void()> run) {
  absl::StatusOr<std::thread> thread = StartThread(task, std::move(run));
  if (thread.ok()) thread->detach();
  return thread.status();
}

absl::Status CheckThreads(absl::string_view task, int count) {
  absl::Notification all_started;
  std::vector<std::thread> threads;
  absl::Status status;
  while (status.ok() && static_cast<int>(threads.size()) < count) {
    absl::StatusOr<std::thread> thread =
        StartThread(task, [&] { all_started.WaitForNotification(); });
    status = thread.status();
    if (thread.ok()) threads.push_back(*std::move(thread));
  }
  all_started.Notify();
  for (std::thread& thread : threads) thread.join();
  return status;
}

absl::Status ThreadStartError(absl::string_view task, const std::system_error& error) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the system gives this process no thread to ", task, ": ", error.code().message(),
      "; raise the limit of threads (ulimit -u, the container's pids limit), give the process "
      "more memory, or run fewer processes here"));
}

}  // namespace muster
