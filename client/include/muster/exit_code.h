#ifndef MUSTER_EXIT_CODE_H_
#define MUSTER_EXIT_CODE_H_

#include "muster/cxx17.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// What a program of a job should exit with, so that a scheduler blames the right process: see
// docs/exit-codes.md. In main():
//
//   const absl::Status status = Run(**job);
//   if (!status.ok()) std::cerr << status.message() << std::endl;
//   muster::WriteTerminationReason(status.message());
//   return muster::ExitCode(status);
namespace muster {

// Will not get better by itself: a variable, a flag or a name is wrong. EX_USAGE of sysexits.h.
inline constexpr int kExitBadConfiguration = 64;
// Another rank was lost, or failed; this process and its node are healthy. EX_TEMPFAIL.
inline constexpr int kExitPeerLost = 75;
// The coordinator could not be reached for as long as this process was told to try.
inline constexpr int kExitCoordinatorLost = 76;
// A GPU, or NCCL, could not be initialized here, or the machine could not start the job's
// processes: another node may do better.
inline constexpr int kExitUnhealthyNode = 77;

// The exit code that goes with an error of the SDK: 0 for OK, one of those above, or 1, which says
// that this process itself has failed. An error of the program's own counts by its code, as far as
// that says it:
//   ABORTED, UNAVAILABLE  kExitPeerLost
//   INVALID_ARGUMENT      kExitBadConfiguration
//   others                1
// Whoever makes a new status of an error of the SDK, with more text, keeps its payloads: without
// them 76 and 77 become 75 and 1. Any thread; does not block.
int ExitCode(const absl::Status& status);

// Writes why the process ends, one line of at most 4096 bytes, where a scheduler looks for it: to
// the file that MUSTER_TERMINATION_LOG names, else to /dev/termination-log (Kubernetes) where there
// is one. In place of what is there; an empty reason leaves it as it is, so that an earlier one is
// not lost. Nothing happens where it cannot be written, or the variable is set and empty.
void WriteTerminationReason(absl::string_view reason);

}  // namespace muster

#endif  // MUSTER_EXIT_CODE_H_
