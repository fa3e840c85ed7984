#include "common/process/writable_folder.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster {

absl::Status MakeWritableFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const bool made = !error;
  if (made && access(folder.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(made ? "cannot write to " : "cannot create ", folder, ": ", error.message()));
}

}  // namespace muster
