#ifndef MUSTER_CLIENT_CLI_STOPPED_COORDINATOR_H_
#define MUSTER_CLIENT_CLI_STOPPED_COORDINATOR_H_

#include <string>

namespace muster::cli {

// Says that the musterd at `address`, one that this user runs on this machine, is stopped (Ctrl-Z,
// SIGSTOP), and how to continue it. Empty if it is not stopped, or not known here. Reads /proc.
std::string DescribeStopped(const std::string& address);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_STOPPED_COORDINATOR_H_
