#ifndef MUSTER_TESTS_CLIENT_ERRORS_COMMAND_ERRORS_H_
#define MUSTER_TESTS_CLIENT_ERRORS_COMMAND_ERRORS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "client/cli/run/launch_plan.h"

// Errors of the commands `muster` and `musterd`, and of the variables that a process reads when it
// joins. Each function makes one mistake and returns the text that the user gets.
namespace muster::testing {

// Runs "muster arguments...", which must fail, and returns its output.
std::string MusterSays(std::vector<std::string> arguments);

// Returns the error for flags of `muster run`: "./train" on a machine with 4 cores and no GPU.
std::string RunFlagsSay(const std::function<void(cli::RunFlags*)>& change);

// Parses musterd's flags in this process, and returns what musterd prints about them.
std::string MusterdFlagsSay(std::vector<std::string> flags);

// Parses the flags and starts the daemon's server in this process. Returns the server's error.
std::string ServingSays(const std::vector<std::string>& flags);

// Serves at a port that another server already has.
std::string ServingAtATakenPortSays();

// Serves with a token file of this content.
std::string ServingWithATokenFileSays(const std::string& content);

// Returns the error of JobOptions::FromEnvironment() if the environment has these variables and no
// other variable of Muster or of a launcher.
std::string VariablesSay(const std::map<std::string, std::string>& variables);

// Returns the warning about this variable.
std::string WarningAbout(const std::string& variable);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_CLIENT_ERRORS_COMMAND_ERRORS_H_
