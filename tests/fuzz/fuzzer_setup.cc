// The setup of all libFuzzer targets under Bazel.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

// libFuzzer writes new inputs to the first corpus in its arguments. Under Bazel, the tree's corpus
// is read-only, so put the test's own directory first.
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
