#include "client/cli/inquire/tar.h"

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
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/observe/bundle/bundle_folder.h"

extern char** environ;

namespace muster::cli {
namespace {

// A temporary folder that only this user can read. The destructor removes it, unless Stay() was
// called.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* const where = std::getenv("TMPDIR");
    path_ = absl::StrCat(where == nullptr || *where == 0 ? "/tmp" : where, "/muster-debug-XXXXXX");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!stays_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Returns the path, or "" with errno set if the folder could not be created.
  const std::string& path() const { return path_; }
  void Stay() { stays_ = true; }

 private:
  std::string path_;
  bool stays_ = false;
};

// Writes the list for tar's --null --files-from. The names of a large job's files do not fit on a
// command line.
absl::Status WriteNames(const std::string& path, const std::string& folder,
                        const std::vector<observe::File>& files) {
  std::ofstream names(path);
  for (const observe::File& file : files) names << folder << '/' << file.name << '\0';
  if (names.flush()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
}

// Opens a file that only this user can read, even if it existed with other permissions. Returns -1
// and sets errno on errors.
int OpenPrivate(const std::string& path) {
  if (path == "-") return dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0) fchmod(file, 0600);  // fails, harmlessly, for other kinds of files, such as a pipe
  return file;
}

// Runs tar(1) with its output in that descriptor.
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

// Packs `name`, which is in the folder.
absl::Status Pack(const std::string& path, const std::string& folder, const std::string& name,
                  const std::vector<observe::File>& files) {
  const std::string names = absl::StrCat(folder, "/.names");
  if (absl::Status s = WriteNames(names, name, files); !s.ok()) return s;
  const int out = OpenPrivate(path);
  if (out < 0) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", strerror(errno)));
  }
  std::vector<std::string> words = {"tar",  "--create", "--file=-",     "--directory",
                                    folder, "--null",   "--files-from", names};
  if (IsCompressedTar(path)) words.push_back("--gzip");
  const absl::Status status = RunTar(std::move(words), out, path);
  close(out);
  return status;
}

}  // namespace

bool IsCompressedTar(absl::string_view path) {
  return absl::EndsWith(path, ".tar.gz") || absl::EndsWith(path, ".tgz");
}

absl::Status WriteTar(const std::string& path, const std::string& name,
                      const std::vector<observe::File>& files) {
  TemporaryFolder folder;
  if (folder.path().empty()) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a temporary folder: ", strerror(errno)));
  }
  const std::string gathered = absl::StrCat(folder.path(), "/", name);
  if (absl::Status s = observe::WriteFiles(gathered, files); !s.ok()) return s;
  const absl::Status packed = Pack(path, folder.path(), name, files);
  if (packed.ok()) return packed;
  folder.Stay();  // the hang may be over by now, so these files are the only copy
  return absl::Status(packed.code(),
                      absl::StrCat(packed.message(), "; what was gathered is in ", gathered));
}

}  // namespace muster::cli
