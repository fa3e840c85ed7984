#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_

namespace muster::internal {

// Logs a warning for each MUSTER_ variable that Muster does not know, once in the life of the
// process. Logs nothing in a process that a launcher of Muster started: the launcher has.
void WarnOfUnknownVariables();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_
