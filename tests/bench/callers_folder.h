#ifndef MUSTER_TESTS_BENCH_CALLERS_FOLDER_H_
#define MUSTER_TESTS_BENCH_CALLERS_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace muster::testing {

// A path as the caller of `bazel run` means it, which starts programs in a folder of its own.
inline std::string FromCallersFolder(const std::string& path) {
  const char* const folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (folder == nullptr || path.empty()) return path;
  return std::filesystem::path(folder) / path;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_CALLERS_FOLDER_H_
