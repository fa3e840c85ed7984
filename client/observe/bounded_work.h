#ifndef MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_
#define MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "absl/time/time.h"

namespace muster::observe {

// Runs the pieces of work on at most `max_threads` threads. Blocks until all are done, or
// `patience` has passed. In the second case returns false: pieces that have not begun never run,
// and a piece that hangs, for example in a driver or a dead file system, keeps its thread. So each
// piece must own what it uses. Returns false at once if no thread could be started.
bool RunWithin(absl::Duration patience, size_t max_threads,
               std::vector<std::function<void()>> work);

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_BOUNDED_WORK_H_
