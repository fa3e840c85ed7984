#ifndef MUSTER_SERVER_CORE_FORMATION_GIVE_UP_POLICY_H_
#define MUSTER_SERVER_CORE_FORMATION_GIVE_UP_POLICY_H_

#include <optional>
#include <string>

#include "server/core/api/requests.h"
#include "server/core/formation/expected_processes.h"
#include "server/core/formation/joining.h"
#include "server/core/job/job_context.h"
#include "server/core/job/lifecycle.h"

namespace muster::core {

// The failure of a forming job that waits for a place which no process will take. Concerns only the
// first epoch of a job that is not elastic.
class GiveUpPolicy {
 public:
  GiveUpPolicy(JobContext& job, Lifecycle& life, Joining& joining)
      : job_(job), life_(life), joining_(joining) {}

  // Notes that a process has attached, or that its launcher says that it runs.
  void Expect(const Incarnation& process);
  // Notes that the process has gone.
  void Forget(const Incarnation& process) { expected_.Remove(process); }
  // Notes that the process's launcher starts no other process in its place.
  void NoteGivenUp(const ExitReport& report);
  // Forgets that a node has given up, because an epoch is claimed.
  void Cancel() { given_up_.reset(); }
  // Forgets everything, because there is an epoch.
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

#endif  // MUSTER_SERVER_CORE_FORMATION_GIVE_UP_POLICY_H_
