#ifndef MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_REGISTRY_H_
#define MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_REGISTRY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/src/data_plane/backend.h"

namespace muster::internal {

struct BackendChoice {
  BackendKind kind;
  std::string reason;  // "CommunicatorOptions::backend asks for it"
};

// Chooses one of `kinds`, which are in order of preference: the kind named by `requested`, else by
// MUSTER_BACKEND, else the first usable one. Returns NOT_FOUND, with a list of the linked kinds, if
// the named one is not linked. Returns FAILED_PRECONDITION, with the reasons, if it is not usable
// or no kind is. `requester` is the source of `requested`, for messages.
absl::StatusOr<BackendChoice> ChooseBackend(
    const std::vector<BackendKind>& kinds, absl::string_view requested,
    absl::string_view requester = "CommunicatorOptions::backend");

// Returns whether the program (by `requested`) or MUSTER_BACKEND names a backend.
bool IsBackendNamed(absl::string_view requested);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_REGISTRY_H_
