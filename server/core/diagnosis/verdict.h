#ifndef MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_H_
#define MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_H_

#include <string>
#include <vector>

#include "server/core/api/job_status.h"
#include "server/core/api/observation.h"

namespace muster::core {

// The kind of a verdict: what the process that holds the others up is doing, or what else keeps the
// job from going on.
enum class VerdictKind {
  kNothingWaits,     // no rank waits for another
  kStopped,          // by a signal or a debugger
  kEnded,            // its process has ended
  kDeadLock,         // its threads wait for each other
  kUninterruptible,  // a disk, a file system or a driver does not answer
  kFullPipe,         // no process reads what it writes
  kInACall,          // a system call
  kInStore,          // it waits in the job's store
  kBusy,             // it computes
  kDifferentCalls,   // ranks wait for each other in different calls
  kNotStarted,       // no launcher has started it
  kSilentNode,       // its launcher does not answer
  kFellBehind,       // in the operations of a communicator
  kDisagreement,     // on an operation of a communicator
  kAllInOneCall,     // all are in the same operation of a communicator, which does not end
  kUnknown           // no launcher has seen it
};

// Returns the kind's name for programs: "stopped", "in-a-call".
std::string NameOf(VerdictKind kind);

struct Verdict {
  VerdictKind kind = VerdictKind::kNothingWaits;
  std::string text;  // one line for people
};

// Returns which process holds the others up, and what it is doing. `observations` come from the
// launchers in `launchers`. Follows waits to their origin: a rank that is missing in one collective
// because it waits in another is not to blame. The rank at the end of the chain is.
Verdict Judge(const JobStatus& job, const std::vector<RankObservation>& observations,
              const std::vector<LauncherView>& launchers);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_DIAGNOSIS_VERDICT_H_
