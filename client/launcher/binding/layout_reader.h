#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_LAYOUT_READER_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_LAYOUT_READER_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/launcher/binding/node_layout.h"

namespace muster::launcher {

// Runs `read` in a child process, and returns what it returns. hwloc and NVML run there, so that
// neither their plug-ins, threads and open files, nor a crash, are the launcher's. Blocks for at
// most `patience`: NVML may wait for a broken GPU for ever. The calling process must have one
// thread.
absl::StatusOr<NodeLayout> ReadInChild(const std::function<absl::StatusOr<NodeLayout>()>& read,
                                       absl::Duration patience);

// Returns the layout of this machine, by ReadInChild().
absl::StatusOr<NodeLayout> ReadThisNode();

// The text that the child sends.
std::string PackLayout(const absl::StatusOr<NodeLayout>& layout);
absl::StatusOr<NodeLayout> UnpackLayout(absl::string_view text);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_LAYOUT_READER_H_
