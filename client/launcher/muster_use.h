#ifndef MUSTER_CLIENT_LAUNCHER_MUSTER_USE_H_
#define MUSTER_CLIENT_LAUNCHER_MUSTER_USE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/client_group.h"
#include "client/launcher/job_plan.h"

namespace muster::launcher {

// Asks the coordinator once, on a thread of its own, whether a process of the job has joined it: a
// program that does not use Muster never does. Its calls may come from one thread at a time.
class MusterUse {
 public:
  // `incarnations` are those of the processes here, 16 bytes each, the first of which was started
  // `age` ago. `group` may be null.
  MusterUse(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
            std::vector<std::string> incarnations, absl::Duration age);
  // Does not wait.
  ~MusterUse();
  MusterUse(const MusterUse&) = delete;
  MusterUse& operator=(const MusterUse&) = delete;

  // Becomes readable when there is an answer, or will be none: after four seconds at most.
  int fd() const;
  bool done() const;
  // Once done; unset: the coordinator could not be asked, or was started again just now, so that
  // members may still come back to it.
  std::optional<bool> answer() const;

 private:
  struct State;

  // Shared with the thread, which may be inside a call when this object goes.
  std::shared_ptr<State> state_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_MUSTER_USE_H_
