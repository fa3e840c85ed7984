#ifndef MUSTER_CLIENT_CLI_COMMAND_LINE_H_
#define MUSTER_CLIENT_CLI_COMMAND_LINE_H_

#include <variant>

#include "client/cli/inquire/debug_command.h"
#include "client/cli/inquire/health_command.h"
#include "client/cli/inquire/replay_command.h"
#include "client/cli/inquire/status_command.h"
#include "client/cli/run/launch_plan.h"

namespace muster::cli {

// The command ends here: help was printed, or the command line was wrong and the error was printed.
struct Exit {
  int status = 0;
};

// `muster token`.
struct PrintToken {};

using Command =
    std::variant<RunFlags, StatusFlags, DebugFlags, HealthFlags, ReplayFlags, PrintToken, Exit>;

// Parses main()'s arguments. Does not check the values of flags; each command does.
Command ParseCommandLine(int argc, char** argv);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_COMMAND_LINE_H_
