#ifndef MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_
#define MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/time/time.h"

namespace muster::observe {

// Does the work on at most `at_once` threads. Blocks until all is done, or until `patience` has
// passed: then false, what was not begun never is, and what hangs, as a look into a driver or a
// dead file system may, is left alone. So each piece must own what it uses. False at
// once where the system gives no thread.
bool DoWithin(absl::Duration patience, size_t at_once, std::vector<std::function<void()>> work);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_
