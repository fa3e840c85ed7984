#include "client/src/data_plane/backend_registry.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "client/src/base/error_note.h"

namespace muster::internal {
namespace {

struct Registry {
  absl::Mutex mutex;
  std::vector<BackendKind> kinds ABSL_GUARDED_BY(mutex);
};

Registry& GetRegistry() {
  // Never destroyed, because static initializers of any library add to it.
  static Registry* registry = new Registry;
  return *registry;
}

std::string ListOf(const std::vector<BackendKind>& kinds) {
  if (kinds.empty()) return "no backend is linked";
  return absl::StrCat("linked: ",
                      absl::StrJoin(kinds, ", ", [](std::string* out, const BackendKind& kind) {
                        absl::StrAppend(out, kind.name);
                      }));
}

absl::StatusOr<BackendChoice> ChooseNamed(const std::vector<BackendKind>& kinds,
                                          absl::string_view name, absl::string_view requester) {
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const BackendKind& kind) { return kind.name == name; });
  if (found == kinds.end()) {
    return absl::NotFoundError(absl::StrCat(requester, " asks for the backend '", name,
                                            "', which this program does not link (", ListOf(kinds),
                                            "); link //client/", name,
                                            name == "nccl" ? ", which needs CUDA and NCCL" : ""));
  }
  if (const absl::Status usable = found->usable(); !usable.ok()) {
    return WithExitCode(absl::FailedPreconditionError(
                            absl::StrCat(requester, " asks for the backend '", name,
                                         "', which cannot be used here: ", usable.message())),
                        ExitCode(usable));
  }
  return BackendChoice{*found, absl::StrCat(requester, " asks for it")};
}

absl::StatusOr<BackendChoice> ChooseBest(const std::vector<BackendKind>& kinds) {
  std::vector<std::string> refusals;
  for (const BackendKind& kind : kinds) {
    const absl::Status usable = kind.usable();
    if (!usable.ok()) {
      refusals.push_back(absl::StrCat("'", kind.name, "' cannot be used here: ", usable.message()));
      continue;
    }
    return BackendChoice{kind, refusals.empty() ? "the first choice of those linked"
                                                : absl::StrJoin(refusals, "; ")};
  }
  if (kinds.empty()) {
    return absl::NotFoundError(
        "no communicator backend is linked; link //client:muster, or //client/gloo or "
        "//client/nccl "
        "beside //client:core");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no linked communicator backend is usable: ", absl::StrJoin(refusals, "; ")));
}

// Returns an empty string if MUSTER_BACKEND is not set.
absl::string_view NamedByEnvironment() {
  const char* variable = std::getenv("MUSTER_BACKEND");
  return variable == nullptr ? "" : variable;
}

}  // namespace

bool RegisterBackend(BackendKind kind) {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  registry.kinds.push_back(std::move(kind));
  std::stable_sort(
      registry.kinds.begin(), registry.kinds.end(),
      [](const BackendKind& a, const BackendKind& b) { return a.priority > b.priority; });
  return true;
}

std::vector<BackendKind> RegisteredBackends() {
  Registry& registry = GetRegistry();
  absl::MutexLock lock(&registry.mutex);
  return registry.kinds;
}

absl::StatusOr<BackendChoice> ChooseBackend(const std::vector<BackendKind>& kinds,
                                            absl::string_view requested,
                                            absl::string_view requester) {
  if (!requested.empty()) return ChooseNamed(kinds, requested, requester);
  const absl::string_view named = NamedByEnvironment();
  return named.empty() ? ChooseBest(kinds) : ChooseNamed(kinds, named, "MUSTER_BACKEND");
}

bool IsBackendNamed(absl::string_view requested) {
  return !requested.empty() || !NamedByEnvironment().empty();
}

}  // namespace muster::internal
