#ifndef MUSTER_COMMON_PROCESS_START_THREAD_H_
#define MUSTER_COMMON_PROCESS_START_THREAD_H_

#include <functional>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// Starts a thread that runs `run`. RESOURCE_EXHAUSTED if the system refuses a further thread. Then
// `run` never runs, and the error names the thread's `task` ("resolve a name") and the limits to
// raise. Use this in place of std::thread's constructor, which throws: no exception may leave
// Muster.
absl::StatusOr<std::thread> StartThread(absl::string_view task, std::function<void()> run);

// Starts a thread as above that is never joined.
absl::Status StartDetachedThread(absl::string_view task, std::function<void()> run);

// Returns the same error if the process cannot have `count` more threads at once. Starts and ends
// them.
absl::Status CheckThreads(absl::string_view task, int count);

// Returns the same error for a library that threw `error` because it could not start a thread.
absl::Status ThreadStartError(absl::string_view task, const std::system_error& error);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_START_THREAD_H_
