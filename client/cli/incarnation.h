#ifndef MUSTER_CLIENT_CLI_INCARNATION_H_
#define MUSTER_CLIENT_CLI_INCARNATION_H_

#include <string>

namespace muster::cli {

// 16 random bytes, which name one start of a process.
std::string NewIncarnation();

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INCARNATION_H_
