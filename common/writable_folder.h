#ifndef MUSTER_COMMON_WRITABLE_FOLDER_H_
#define MUSTER_COMMON_WRITABLE_FOLDER_H_

#include <string>

#include "absl/status/status.h"

namespace muster {

// Makes the folder, and those above it, where they are not there. UNAVAILABLE says why that cannot
// be, or why this process cannot write there.
absl::Status MakeWritableFolder(const std::string& folder);

}  // namespace muster

#endif  // MUSTER_COMMON_WRITABLE_FOLDER_H_
