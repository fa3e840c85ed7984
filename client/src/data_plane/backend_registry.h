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

// Chooses among `kinds`, which are in order of preference: the one that `requested` names, else the
// one that MUSTER_BACKEND names, else the first usable one. NOT_FOUND if it is not among them,
// listing those that are; FAILED_PRECONDITION if it is there but not usable, or none is, saying
// why. `requester` is whose word `requested` is, for messages.
absl::StatusOr<BackendChoice> ChooseBackend(
    const std::vector<BackendKind>& kinds, absl::string_view requested,
    absl::string_view requester = "CommunicatorOptions::backend");

// Whether the program (by `requested`) or MUSTER_BACKEND names a backend.
bool IsBackendNamed(absl::string_view requested);

}  // namespace muster::internal

#endif  // MUSTER_CLIENT_SRC_DATA_PLANE_BACKEND_REGISTRY_H_
