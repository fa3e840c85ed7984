#ifndef MUSTER_COMMON_PROCESS_TERMINATION_LOG_H_
#define MUSTER_COMMON_PROCESS_TERMINATION_LOG_H_

#include "absl/strings/string_view.h"

namespace muster {

// Writes the reason why a process ends, as one line, to the file that MUSTER_TERMINATION_LOG names,
// else to /dev/termination-log if that exists. Does nothing if `reason` is empty, the variable is
// set and empty, or the file cannot be written. Never blocks, not even on a pipe or a device.
void WriteTerminationLog(absl::string_view reason);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_TERMINATION_LOG_H_
