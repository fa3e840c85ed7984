#ifndef MUSTER_TESTS_RANK_STEPS_H_
#define MUSTER_TESTS_RANK_STEPS_H_

#include <string>

#include "absl/status/status.h"
#include "muster/job.h"
#include "tests/rank/interpreter.h"

namespace muster::testing {

// Calls every primitive once, and every call of a group, a lease and a communicator.
absl::Status EveryPrimitive(Job& job);

// Calls each helper on tensors once, and checks the values.
absl::Status ReduceAndGather(Job& job);
// Makes calls that are rejected on all ranks, since the last rank passes other arguments.
absl::Status Disagree(Job& job);
// Makes a call in which the process of rank `killed` kills itself (SIGKILL) as soon as part of its
// tensor has changed.
absl::Status AllReduceKilling(Job& job, int killed);
absl::Status AverageKilling(Job& job, int killed);

//   share=FOLDER               write, wait for all ranks, read all
//   share-late=FOLDER          the same, but rank 0 opens the workspace when the others have
//                              written
//   read-of-the-killed=FOLDER  rank 0 writes one version after another until it is killed;
//                              then the others read
Steps WorkspaceSteps();

//   configs[=FOLDER]        every rank but those with rank % 4 == 2 offers a configuration
//   malformed[=FOLDER]      rank 1's configuration is not JSON
//   tensors-of-all          every rank offers a tensor
//   unequal                 rank 1's tensor is longer
//   lists                   rank 1 names other ranks
//   too-large               rank 0's tensor is larger than /dev/shm
//   killed-before[=FOLDER], killed-inside   rank 0 is killed before, or inside, the scope
Steps ExchangeSteps();

//   help=SCENARIO...: helper_steps.cc
Steps HelperSteps();

//   read=PATH             reads a named pipe to which no process writes
//   compute=FILE          computes until FILE exists
//   dead-lock             two threads wait for each other's mutexes
//   fill-output           writes to standard output without an end
//   uninterruptible=PATH  sleeps in state D until a process writes into a named pipe
//   pair-barrier          a barrier of the group of ranks 0 and 1
Steps StuckSteps();

// Prints what the process knows of itself before, in and after a job. `how` says how the job
// becomes the current one:
//
//   initialize    Initialize(), from the environment
//   options       Initialize() with options; the environment is not read
//   sync          Sync(), for a job that is joined and left by other means
//   hint          no job, only SetLocalRank()
//   hinted=N      Initialize(), from the environment and SetLocalRank(N)
absl::Status TellIdentity(const std::string& how);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_RANK_STEPS_H_
