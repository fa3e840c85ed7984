#ifndef MUSTER_SERVER_CORE_GIVING_UP_H_
#define MUSTER_SERVER_CORE_GIVING_UP_H_

#include <optional>
#include <string>

#include "server/core/expected_processes.h"
#include "server/core/job_context.h"
#include "server/core/joining.h"
#include "server/core/lifecycle.h"
#include "server/core/requests.h"

namespace muster::core {

// What a job that forms waits for in vain: a place that nobody will take. Only the first epoch of a
// job that is not elastic waits so.
class GivingUp {
 public:
  GivingUp(JobContext& job, Lifecycle& life, Joining& joining)
      : job_(job), life_(life), joining_(joining) {}

  // A process has come, or its launcher says that it runs.
  void Expect(const Incarnation& process);
  // It has gone.
  void Forget(const Incarnation& process) { expected_.Remove(process); }
  // Its launcher starts nobody in its place.
  void NoteGivenUp(const ExitReport& report);
  // An epoch is claimed: nothing was given up that it needs.
  void Cancel() { given_up_.reset(); }
  // There is an epoch.
  void Clear();

  // Fails the job if a place stays empty for good. Returns whether it did.
  bool TryFail();
  Time NextStep() const;

 private:
  struct GivenUp {
    std::string why;
    Time fails_at;
  };
  bool FormsOnce() const;

  JobContext& job_;
  Lifecycle& life_;
  Joining& joining_;
  ExpectedProcesses expected_;
  std::optional<GivenUp> given_up_;
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_GIVING_UP_H_
