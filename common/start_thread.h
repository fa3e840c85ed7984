#ifndef MUSTER_COMMON_START_THREAD_H_
#define MUSTER_COMMON_START_THREAD_H_

#include <functional>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster {

// Starts a thread that runs `run`. RESOURCE_EXHAUSTED if the system gives this process no further
// thread: then `run` never runs, and the text says what the thread was to do, which is `task`
// ("resolve a name"), and which limits to raise. A std::thread that is made directly throws
// instead, and an exception must not leave Muster.
absl::StatusOr<std::thread> StartThread(absl::string_view task, std::function<void()> run);

// The same for a thread that nobody joins.
absl::Status StartDetachedThread(absl::string_view task, std::function<void()> run);

// The same error, for a library that has thrown `error` because it got no thread.
absl::Status NoThread(absl::string_view task, const std::system_error& error);

}  // namespace muster

#endif  // MUSTER_COMMON_START_THREAD_H_
