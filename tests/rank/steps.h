#ifndef MUSTER_TESTS_RANK_STEPS_H_
#define MUSTER_TESTS_RANK_STEPS_H_

#include <string>

#include "absl/status/status.h"
#include "muster/job.h"
#include "tests/rank/interpreter.h"

namespace muster::testing {

// One call of every primitive, and of every group, lease and communicator's call.
absl::Status EveryPrimitive(Job& job);

// One call of each helper on tensors, with its values.
absl::Status ReduceAndGather(Job& job);
// Calls that are refused on all ranks, since the last one passes something else.
absl::Status Disagree(Job& job);
// A call in the middle of which the process that is rank `killed` ends itself by SIGKILL: as soon
// as some of its tensor has changed.
absl::Status AllReduceKilling(Job& job, int killed);
absl::Status AverageKilling(Job& job, int killed);

//   share=FOLDER               write, wait for all, read all
//   share-late=FOLDER          the same, but rank 0 opens the workspace when the others have
//   written read-of-the-killed=FOLDER  rank 0 writes one version after another until it is killed;
//   the
//                              others then read
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

//   read=PATH             reads a named pipe into which nobody writes
//   compute=FILE          computes until FILE is there
//   dead-lock             two threads wait for each other's mutexes
//   fill-output           writes to standard output without an end
//   uninterruptible=PATH  sleeps in state D until somebody writes into a named pipe
//   pair-barrier          a barrier of the group of ranks 0 and 1
Steps StuckSteps();

// Tells who the process is before, in and after a job. `how` the job becomes the current one:
//
//   initialize    Initialize(), from the environment
//   options       Initialize() with options, and the environment unread
//   sync          Sync(), of a job that was joined and is left by other means
//   hint          no job; only what SetLocalRank() says
//   hinted=N      Initialize(), from the environment and what SetLocalRank(N) says
absl::Status TellIdentity(const std::string& how);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_RANK_STEPS_H_
