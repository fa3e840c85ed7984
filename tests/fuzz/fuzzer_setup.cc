// What all libFuzzer targets need under Bazel.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

// libFuzzer writes what it finds to the first corpus that it is given: under Bazel to the test's
// own directory, since the tree's is read-only there.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const char* own = std::getenv("TEST_TMPDIR");
  if (own == nullptr) return 0;
  static std::string found = std::string(own) + "/found";
  static std::string artifacts = "-artifact_prefix=" + std::string(own) + "/";
  std::filesystem::create_directories(found);
  static std::vector<char*> arguments(*argv, *argv + *argc);
  arguments.insert(arguments.begin() + 1, {found.data(), artifacts.data()});
  *argc += 2;
  arguments.push_back(nullptr);
  *argv = arguments.data();
  return 0;
}
