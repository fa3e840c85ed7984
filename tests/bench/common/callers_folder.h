#ifndef MUSTER_TESTS_BENCH_COMMON_CALLERS_FOLDER_H_
#define MUSTER_TESTS_BENCH_COMMON_CALLERS_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace muster::testing {

// Returns a path relative to the folder in which `bazel run` was called. Bazel starts programs in
// another folder.
inline std::string ResolveFromCaller(const std::string& path) {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || path.empty()) return path;
  return std::filesystem::path(folder) / path;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_CALLERS_FOLDER_H_
