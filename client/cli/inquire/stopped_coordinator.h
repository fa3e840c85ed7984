#ifndef MUSTER_CLIENT_CLI_INQUIRE_STOPPED_COORDINATOR_H_
#define MUSTER_CLIENT_CLI_INQUIRE_STOPPED_COORDINATOR_H_

#include <string>

namespace muster::cli {

// If the musterd at `address` runs on this machine for this user and is stopped (Ctrl-Z, SIGSTOP),
// returns a text that says so and how to continue it. Else returns "". Reads /proc.
std::string DescribeStopped(const std::string& address);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_STOPPED_COORDINATOR_H_
