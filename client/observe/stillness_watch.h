#ifndef MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_
#define MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "client/observe/sight.h"

namespace muster::observe {

// Notes from time to time which processes have not run. Of one thread.
class StillnessWatch {
 public:
  // Looks at what does the work of these processes, for a second at most: one that cannot be looked
  // at in time is left out, and as long as that look hangs there is no other.
  void Note(const std::vector<pid_t>& started);

  const Stillness& stillness() const { return stillness_; }

 private:
  struct Glance;

  // By the process that was started. Shared with threads that may hang.
  std::map<pid_t, std::shared_ptr<Glance>> glances_;
  Stillness stillness_;
};

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_STILLNESS_WATCH_H_
