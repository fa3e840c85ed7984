#ifndef MUSTER_SERVER_CORE_VERDICT_H_
#define MUSTER_SERVER_CORE_VERDICT_H_

#include <string>
#include <vector>

#include "server/core/job_status.h"
#include "server/core/observation.h"

namespace muster::core {

// What a verdict says of whoever holds the others up.
enum class VerdictKind {
  kNothingWaits,     // nobody waits for anybody
  kStopped,          // by a signal or a debugger
  kEnded,            // its process has
  kDeadLock,         // its threads wait for each other
  kUninterruptible,  // a disk, a file system or a driver does not answer
  kFullPipe,         // nobody reads what it writes
  kInACall,          // of the system
  kBusy,             // it computes
  kDifferentCalls,   // ranks wait for each other in different calls
  kNotStarted,       // no launcher has started it
  kSilentNode,       // its launcher does not answer
  kFellBehind,       // in the operations of a communicator
  kDisagreement,     // about an operation of a communicator
  kAllInOneCall,     // all are in the same operation of a communicator, which does not end
  kUnknown           // nobody has looked at it
};

// For programs: "stopped", "in-a-call".
std::string NameOf(VerdictKind kind);

struct Verdict {
  VerdictKind kind = VerdictKind::kNothingWaits;
  std::string text;  // one line for people
};

// Who holds the others up, and what it is doing. `seen` is what the launchers have told,
// `launchers` who they are. Follows waits to their beginning: a rank that is missing in one
// collective because it waits in another is not to blame; the one that everybody waits for in the
// end is.
Verdict Judge(const JobStatus& job, const std::vector<RankObservation>& seen,
              const std::vector<LauncherView>& launchers);

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_VERDICT_H_
