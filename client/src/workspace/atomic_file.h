#ifndef MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_
#define MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace muster::internal {

// Returns the prefix of the temporary files for `name`. If the writer crashes, such a file is left
// behind.
std::string TemporaryPrefix(const std::string& name);

// Writes `parts`, one after another, to the file directory/name, and blocks until it is on the
// disk. A process that opens the file finds the old one (or none) or all of the new one, even after
// a crash of the machine. Returns the system's error, with the path, and then leaves the old file
// unchanged.
absl::Status WriteAtomically(const std::string& directory, const std::string& name,
                             const std::vector<absl::string_view>& parts);

// Makes earlier creations, renames and deletions in the directory durable.
absl::Status SyncDirectory(const std::string& directory);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_WORKSPACE_ATOMIC_FILE_H_
