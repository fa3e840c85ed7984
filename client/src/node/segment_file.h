#ifndef MUSTER_CLIENT_SRC_NODE_SEGMENT_FILE_H_
#define MUSTER_CLIENT_SRC_NODE_SEGMENT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Files of a tmpfs in which processes of one user share memory. They have names only until all who
// are to have them do. Whoever has one open holds a shared lock on it (flock), so that a file whose
// processes were all killed before that can be told from one in use. None of this blocks.
namespace muster::internal {

// A file of `size` bytes at `path`, which must be on a tmpfs: `content`, then zeros. Memory for the
// first `reserved` bytes is there for good. It gets its name when it is whole, and is open to this
// user alone. Returns its descriptor; ALREADY_EXISTS if something has that name;
// RESOURCE_EXHAUSTED if there is no memory for it.
absl::StatusOr<int> MakeSegmentFile(const std::string& path, size_t size, size_t reserved,
                                    absl::string_view content);

// The descriptor of what MakeSegmentFile() has made there; NOT_FOUND if nothing has that name,
// FAILED_PRECONDITION if it is not this user's, or is not of that size.
absl::StatusOr<int> OpenSegmentFile(const std::string& path, size_t size);

// Reserves memory for a part of it: without this a full tmpfs would show as SIGBUS at the first
// touch of a page that it lacks.
absl::Status ReserveSegmentFile(int descriptor, const std::string& path, size_t offset,
                                size_t bytes);

// Maps it, for reading and writing. `flags` go to mmap() beside MAP_SHARED.
absl::StatusOr<void*> MapSegmentFile(int descriptor, const std::string& path, size_t size,
                                     int flags);

// Removes the names of this user's files in `folder` that nobody has open any more, of those whose
// name is like `is_one_of_ours` says. What cannot be removed stays.
void RemoveAbandonedSegmentFiles(const std::string& folder,
                                 absl::FunctionRef<bool(absl::string_view name)> is_one_of_ours);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_NODE_SEGMENT_FILE_H_
