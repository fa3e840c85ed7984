#ifndef MUSTER_EXIT_CODE_H_
#define MUSTER_EXIT_CODE_H_

#include "muster/cxx17.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Exit codes that let a scheduler blame the right process; docs/exit-codes.md explains them. In
// main():
//
//   const absl::Status status = Run(**job);
//   if (!status.ok()) std::cerr << status.message() << std::endl;
//   muster::WriteTerminationReason(status.message());
//   return muster::ExitCode(status);
namespace muster {

// A variable, a flag or a name is wrong. A restart does not help. EX_USAGE of sysexits.h.
inline constexpr int kExitBadConfiguration = 64;
// Another rank was lost or has failed. This process and its node are healthy. EX_TEMPFAIL.
inline constexpr int kExitPeerLost = 75;
// The coordinator could not be reached for JobOptions::coordinator_timeout.
inline constexpr int kExitCoordinatorLost = 76;
// A GPU or NCCL could not be initialized on this node, or the node could not start the job's
// processes. Another node may succeed.
inline constexpr int kExitUnhealthyNode = 77;

// Returns the exit code for a status: 0 for OK, a code above for an error of the SDK that it
// describes, or 1, which blames this process. An error that the program made itself is judged by
// its code alone:
//   ABORTED, UNAVAILABLE  kExitPeerLost
//   INVALID_ARGUMENT      kExitBadConfiguration
//   others                1
// If you copy an error of the SDK to add text, copy its payloads too (muster/error_facts.h).
// Without them 76 and 77 become 75 and 1. Does not block. Thread-safe.
int ExitCode(const absl::Status& status);

// Writes the reason why the process ends where a scheduler reads it: to the file that
// MUSTER_TERMINATION_LOG names, or else to /dev/termination-log (Kubernetes), if that exists.
// Writes one line of at most 4096 bytes, which replaces the content of the file. Does nothing if
// `reason` is empty, so that an earlier reason is kept, or if the variable is set and empty.
// Ignores errors.
void WriteTerminationReason(absl::string_view reason);

}  // namespace muster

#endif  // MUSTER_EXIT_CODE_H_
