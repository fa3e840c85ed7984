#ifndef MUSTER_CLIENT_CLI_RUN_RUN_COMMAND_H_
#define MUSTER_CLIENT_CLI_RUN_RUN_COMMAND_H_

#include "client/cli/run/launch_plan.h"

namespace muster::cli {

// Runs `muster run` and returns its exit status: RunOutcome::ExitStatus(). If something could not
// be started, returns 127 or 126 for a program that cannot be found or executed, 77 for a machine
// without room for another process, 64 for unusable credential files, and else 1. Blocks until the
// run is over.
//
// `argc` and `argv` are main()'s; the supervisor process overwrites the strings with its own name.
// The process must not have started a thread, because it forks.
//
// Two processes guard the ranks, so that no rank outlives either of them:
//
//   launcher (this process) -- supervisor -- musterd
//                                        \-- rank 0 -- what it starts ...
//                                        \-- rank 1 ...
//
// Both adopt their orphaned descendants (PR_SET_CHILD_SUBREAPER) and reap them.
//   * The launcher is killed: the supervisor sees the end of the control pipe, kills every
//     descendant and exits.
//   * The supervisor is killed: the kernel kills the ranks (PR_SET_PDEATHSIG), and the launcher
//     kills their descendants.
//   * Both are killed before either could act: the ranks die, but their own children stay. To make
//     this unlikely, the supervisor is named "rank-supervisor", so that `pkill -9 muster` and
//     `killall -9 muster` do not match it.
// Children that this process had before (`helper & exec muster run ...`), and their descendants,
// are not touched.
int RunRunCommand(LaunchPlan plan, int argc, char** argv);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_RUN_COMMAND_H_
