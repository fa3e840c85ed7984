#ifndef MUSTER_SERVER_CORE_GROUP_FINISHED_CALL_H_
#define MUSTER_SERVER_CORE_GROUP_FINISHED_CALL_H_

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "server/core/api/effects.h"

namespace muster::core {

// A parked collective call that has ended, with its result.
struct FinishedCall {
  WaiterId waiter = 0;
  absl::Status status;
  CollectiveAnswer answer;
};

// Calls that end together, in the order in which they are answered.
using FinishedCalls = std::vector<FinishedCall>;

// Returns the end of one call with an error.
inline FinishedCalls EndCall(WaiterId waiter, absl::Status status) {
  return {{waiter, std::move(status), {}}};
}

inline void Append(FinishedCalls more, FinishedCalls* calls) {
  if (calls->empty()) {
    *calls = std::move(more);
    return;
  }
  std::move(more.begin(), more.end(), std::back_inserter(*calls));
}

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GROUP_FINISHED_CALL_H_
