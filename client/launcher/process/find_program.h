#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_FIND_PROGRAM_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_FIND_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::launcher {

// Returns the path of the program that a shell would run for `name`. A name with a slash is a path
// already; else `search_path`, in the form of PATH, is searched. Returns NOT_FOUND if there is no
// such file, and PERMISSION_DENIED if it cannot be executed.
absl::StatusOr<std::string> FindProgram(const std::string& name, const std::string& search_path);

// Returns the path of the musterd binary. `given` is the path that the user named. If it is empty,
// looks next to `self` (this program's own file), in the layout of Bazel's output and runfiles
// trees, and then in `search_path`. Returns NOT_FOUND with the list of places.
absl::StatusOr<std::string> FindMusterd(const std::string& given, const std::string& self,
                                        const std::string& search_path);

// Returns the path of this program's own file, with symbolic links resolved.
std::string SelfPath();

// Returns the value of an environment variable, or "" if it is unset.
std::string GetEnv(const char* name);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_FIND_PROGRAM_H_
