#ifndef MUSTER_CLIENT_OBSERVE_IDLE_SAMPLER_H_
#define MUSTER_CLIENT_OBSERVE_IDLE_SAMPLER_H_

#include <sys/types.h>

#include <map>
#include <memory>
#include <vector>

#include "client/observe/process_sampler.h"

namespace muster::observe {

// Notes from time to time which processes have not run since the last time. Not thread-safe.
class IdleSampler {
 public:
  // Samples the workers of these processes. Blocks for at most one second: a process that cannot be
  // sampled in time is left out, and is not sampled again while its sample hangs.
  void Sample(const std::vector<pid_t>& started);

  const IdleTracker& tracker() const { return tracker_; }

 private:
  struct RunCountSample;

  // By started process. Shared with threads that may hang.
  std::map<pid_t, std::shared_ptr<RunCountSample>> samples_;
  IdleTracker tracker_;
};

}  // namespace muster::observe

#endif  // MUSTER_CLIENT_OBSERVE_IDLE_SAMPLER_H_
