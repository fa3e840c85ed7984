#ifndef MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// What the temporary files for `name` begin with; a crash of the writer leaves one behind.
std::string TemporaryPrefix(const std::string& name);

// Writes `parts`, one after another, as the file directory/name. Whoever opens it finds the old
// file (or none) or all of the new one, after a crash of the machine too; at return the new one is
// on the disk. Errors are the system's, with the file's path, and leave the old file as it was.
absl::Status WriteAtomically(const std::string& directory, const std::string& name,
                             const std::vector<absl::string_view>& parts);

// Makes what was created, renamed or deleted in the directory last.
absl::Status SyncDirectory(const std::string& directory);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_
