#ifndef MUSTER_CLIENT_LAUNCHER_FIND_PROGRAM_H_
#define MUSTER_CLIENT_LAUNCHER_FIND_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::launcher {

// Path of the program that a shell would run for `name`: itself where it has a slash, else what is
// found in `search_path` (the form of PATH). NOT_FOUND: there is none. PERMISSION_DENIED: there is
// one and it cannot be executed.
absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path);

// Path of the musterd binary. `given` is what the user named, or empty: then it is looked for next
// to `self` (this program's own file), in the layout of Bazel's output and runfiles trees, and in
// `search_path`. NOT_FOUND lists the places.
absl::StatusOr<std::string> FindMusterd(const std::string& given, const std::string& self,
                                        const std::string& search_path);

// This program's own file, symbolic links resolved.
std::string SelfPath();

// Value of an environment variable; empty where it is unset.
std::string GetEnv(const char* name);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_FIND_PROGRAM_H_
