#ifndef MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_
#define MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_

namespace muster::internal {

// Logs a warning for each MUSTER_ variable that Muster does not know, once per process. If a
// launcher of Muster started the process, logs nothing, because the launcher has done so.
void WarnOfUnknownVariables();

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_ENVIRONMENT_UNKNOWN_VARIABLES_H_
