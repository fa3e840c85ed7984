#include "tests/nccl/libraries.h"

#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/util/process/process.h"

namespace muster::testing {
namespace {

// Returns an absolute path, since programs may start in another folder than the test.
std::string AbsoluteRunfile(const std::string& path) {
  const std::string found = Runfile(path);
  if (found[0] == '/') return found;
  char* const folder = get_current_dir_name();
  const std::string absolute = absl::StrCat(folder, "/", found);
  std::free(folder);
  return absolute;
}

}  // namespace

std::string NcclUnderTest() {
  const char* const version = std::getenv("MUSTER_TEST_NCCL");
  return version == nullptr ? "" : version;
}

int NcclVersionCode() {
  const std::string version = NcclUnderTest();
  int code = 0;
  for (absl::string_view part : absl::StrSplit(version, '.')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number)) return 0;
    code = code * 100 + number;
  }
  return code;
}

std::map<std::string, std::string> NcclVariables() {
  const std::string version = NcclUnderTest();
  if (version.empty()) return {};
  const std::string repository = absl::StrCat("nccl_", absl::StrReplaceAll(version, {{".", "_"}}));
  return {
      {"LD_LIBRARY_PATH", absl::StrCat(AbsoluteRunfile(absl::StrCat("../", repository)), ":",
                                       AbsoluteRunfile("tests/nccl/cuda/lib"))},
      {"NCCL_ALGO", "Ring"},
      {"NCCL_PROTO", "Simple"},
      {"NCCL_IB_DISABLE", "1"},
      {"NCCL_SOCKET_IFNAME", "lo"},
      {"NCCL_CUMEM_ENABLE", "0"},
  };
}

}  // namespace muster::testing
