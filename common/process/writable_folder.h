#ifndef MUSTER_COMMON_PROCESS_WRITABLE_FOLDER_H_
#define MUSTER_COMMON_PROCESS_WRITABLE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// Makes the folder and its parents if they do not exist. UNAVAILABLE says why that is not possible,
// or why this process cannot write there.
absl::Status MakeWritableFolder(const std::string& folder);

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_WRITABLE_FOLDER_H_
