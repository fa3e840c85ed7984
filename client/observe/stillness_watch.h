#ifndef MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_
#define MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "client/observe/sight.h"

namespace muster::observe {

// Notes from time to time which processes have not run since the last time. Not thread-safe.
class StillnessWatch {
 public:
  // Samples the workers of these processes. Blocks for at most one second: a process that cannot be
  // sampled in time is left out, and is not sampled again while its sample hangs.
  void Note(const std::vector<pid_t>& started);

  const Stillness& stillness() const { return stillness_; }

 private:
  struct Glance;

  // By started process. Shared with threads that may hang.
  std::map<pid_t, std::shared_ptr<Glance>> glances_;
  Stillness stillness_;
};

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_
