#include "client/launcher/pmix_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/process/find_program.h"

namespace muster::launcher {
namespace {

constexpr char kName[] = "libmuster_pmix.so";

// Debian's folder of libraries, below the prefix.
#if defined(__x86_64__)
constexpr char kDebianFolder[] = "lib/x86_64-linux-gnu";
#elif defined(__aarch64__)
constexpr char kDebianFolder[] = "lib/aarch64-linux-gnu";
#else
constexpr char kDebianFolder[] = "lib";
#endif

}  // namespace

absl::StatusOr<std::string> FindPmixLibrary(const std::string& self) {
  const std::string folder = self.substr(0, self.rfind('/'));
  const std::vector<std::string> places = {
      absl::StrCat(folder, "/", kName),
      absl::StrCat(folder, "/../lib/", kName),
      absl::StrCat(folder, "/../lib64/", kName),
      absl::StrCat(folder, "/../", kDebianFolder, "/", kName),
      absl::StrCat(folder, "/../launcher/pmix/", kName),
  };
  for (const std::string& place : places) {
    if (access(place.c_str(), R_OK) == 0) return place;
  }
  return absl::NotFoundError(absl::StrCat(kName, " is not beside ", self,
                                          ", nor in the folders of libraries below its prefix"));
}

absl::StatusOr<const MusterPmix*> LoadPmixLibrary(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::UnavailableError(dlerror());
  const auto* const pmix = static_cast<const MusterPmix*>(dlsym(library, kMusterPmixSymbol));
  if (pmix == nullptr || pmix->version != kMusterPmixVersion) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is of another version of Muster"));
  }
  return pmix;
}

}  // namespace muster::launcher
