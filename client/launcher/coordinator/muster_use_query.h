#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_MUSTER_USE_QUERY_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_MUSTER_USE_QUERY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/plan/job_plan.h"

namespace muster::launcher {

// Asks the coordinator once, on its own thread, whether any process of the job has joined it. In a
// job whose program does not use Muster, none ever does. Call from one thread at a time.
class MusterUseQuery {
 public:
  // `incarnations` are the 16-byte incarnations of the processes here. `age` is the time since the
  // first of them was started. `group` may be null.
  MusterUseQuery(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                 std::vector<std::string> incarnations, absl::Duration age);
  // Does not block.
  ~MusterUseQuery();
  MusterUseQuery(const MusterUseQuery&) = delete;
  MusterUseQuery& operator=(const MusterUseQuery&) = delete;

  // Becomes readable when the question is settled, with or without an answer, after at most four
  // seconds.
  int fd() const;
  bool done() const;
  // Valid once done(). Unset if the coordinator could not be asked. Also unset if no process has
  // joined a coordinator that was restarted within the last minute: members may still reconnect.
  std::optional<bool> answer() const;

 private:
  struct State;

  // Shared with the thread, which may still be in a call when this object is destroyed.
  std::shared_ptr<State> state_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_MUSTER_USE_QUERY_H_
