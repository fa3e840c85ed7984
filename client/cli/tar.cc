#include "client/cli/tar.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/observe/bundle_folder.h"

extern char** environ;

namespace muster::cli {
namespace {

// A folder for this user alone, which goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* const where = std::getenv("TMPDIR");
    path_ = absl::StrCat(where == nullptr || *where == 0 ? "/tmp" : where, "/muster-debug-XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty: there is none, and errno says why.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// For this user alone, also where the file was there for others. -1: errno says why.
int OpenPrivate(const std::string& path) {
  if (path == "-") return dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0) fchmod(file, 0600);  // fails for what is no file of this user's, such as a pipe
  return file;
}

// tar(1), into that descriptor.
absl::Status RunTar(std::vector<std::string> words, int out, const std::string& path) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = 0;
  int status = 0;
  const int error = posix_spawnp(&pid, "tar", &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return absl::UnavailableError(absl::StrCat("cannot run tar: ", strerror(error)));
  if (waitpid(pid, &status, 0) == pid && status == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("tar could not write ", path == "-" ? "to standard output" : path));
}

}  // namespace

bool IsCompressedTar(absl::string_view path) {
  return absl::EndsWith(path, ".tar.gz") || absl::EndsWith(path, ".tgz");
}

absl::Status WriteTar(const std::string& path, const std::string& name,
                      const std::vector<observe::File>& files) {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a temporary folder: ", strerror(errno)));
  }
  const absl::Status written = observe::WriteFiles(absl::StrCat(folder.path(), "/", name), files);
  if (!written.ok()) return written;
  std::vector<std::string> words = {"tar", "--create", "--file=-", "--directory", folder.path()};
  if (IsCompressedTar(path)) words.push_back("--gzip");
  for (const observe::File& file : files) words.push_back(absl::StrCat(name, "/", file.name));
  const int out = OpenPrivate(path);
  if (out < 0)
    return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
  const absl::Status status = RunTar(std::move(words), out, path);
  close(out);
  return status;
}

}  // namespace muster::cli
