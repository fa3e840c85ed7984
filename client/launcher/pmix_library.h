#ifndef MUSTER_CLIENT_LAUNCHER_PMIX_LIBRARY_H_
#define MUSTER_CLIENT_LAUNCHER_PMIX_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "client/launcher/pmix/abi.h"

namespace muster::launcher {

// Returns the path of libmuster_pmix.so: beside the program `self`, in the folder of libraries of
// its installation, or where Bazel builds it. NOT_FOUND says where it was looked for.
absl::StatusOr<std::string> FindPmixLibrary(const std::string& self);

// Loads the library. An error says why it cannot be used, such as that libpmix is not installed.
absl::StatusOr<const MusterPmix*> LoadPmixLibrary(const std::string& path);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PMIX_LIBRARY_H_
