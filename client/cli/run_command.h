#ifndef MUSTER_CLIENT_CLI_RUN_COMMAND_H_
#define MUSTER_CLIENT_CLI_RUN_COMMAND_H_

#include "client/cli/launch_plan.h"

namespace muster::cli {

// `muster run`: runs the plan and returns the exit status of the command: see
// RunOutcome::ExitStatus(); 127 or 126 if the program cannot be found or executed, in which case
// nothing was started; 1 if something else cannot be started. Blocks until the run is over.
//
// `argc` and `argv` are main()'s, to be changed in the supervisor process: see below. No thread may
// have been started before.
//
// Two processes guard the ranks, so that none outlives either:
//
//   launcher (this process) -- supervisor -- musterd
//                                        \-- rank 0 -- what it starts ...
//                                        \-- rank 1 ...
//
// Each of the two adopts its orphaned descendants (PR_SET_CHILD_SUBREAPER) and reaps them. If the
// launcher is killed, the supervisor sees the end of a pipe, kills every descendant and ends. If
// the supervisor is killed, the kernel kills the ranks (PR_SET_PDEATHSIG), and the launcher kills
// the rest. Only a SIGKILL that hits both before either could act leaves the ranks' own children
// alive; as the supervisor's name and command line are its own ("rank-supervisor"), `pkill -9
// muster` and `killall -9 muster` are not such a one. Children that this process had before
// (`helper & exec muster run ...`) and theirs are left alone.
int RunRunCommand(LaunchPlan plan, int argc, char** argv);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_RUN_COMMAND_H_
