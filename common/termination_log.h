#ifndef MUSTER_COMMON_TERMINATION_LOG_H_
#define MUSTER_COMMON_TERMINATION_LOG_H_

#include "absl/strings/string_view.h"

namespace muster {

// Writes why a process ends, one line, to the file that MUSTER_TERMINATION_LOG names, else to
// /dev/termination-log where there is one. Nothing happens if `reason` is empty, if the variable
// is set and empty, or where it cannot be written. What a pipe or a device would hold up is left.
void WriteTerminationLog(absl::string_view reason);

}  // namespace muster

#endif  // MUSTER_COMMON_TERMINATION_LOG_H_
