#include "tests/util/process/dev_shm.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace {

constexpr absl::string_view kDevShm = "/dev/shm";

// Never destroyed, since other threads and destructors open files until the end of the process.
std::string& RedirectedFolder() {
  static auto* const folder = new std::string(kDevShm);
  return *folder;
}
bool is_full = false;

// Maps /dev/shm and the files directly in it. Paths further down stay, since the shown folder may
// itself be in /dev/shm.
std::string RedirectedPath(const char* path) {
  absl::string_view name(path);
  const bool in_it = absl::ConsumePrefix(&name, kDevShm) && (name.empty() || name.rfind('/') == 0);
  return in_it ? absl::StrCat(RedirectedFolder(), name) : std::string(path);
}

int Open(int folder, const char* path, int flags, va_list more) {
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const mode_t mode = makes ? va_arg(more, mode_t) : 0;
  const std::string where = RedirectedPath(path);
  return static_cast<int>(syscall(SYS_openat, folder, where.c_str(), flags, mode));
}

}  // namespace

// Defines libc's functions by their symbols, since libc's headers may define the names themselves.
extern "C" {

int OpenRedirected(const char* path, int flags, ...) __asm__("open");
int OpenRedirected(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int file = Open(AT_FDCWD, path, flags, more);
  va_end(more);
  return file;
}

// Listing a folder opens it by this function.
int OpenRedirectedAt(int folder, const char* path, int flags, ...) __asm__("openat");
int OpenRedirectedAt(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const int file = Open(folder, path, flags, more);
  va_end(more);
  return file;
}

int LinkRedirectedAt(int from, const char* path, int to, const char* name,
                     int flags) __asm__("linkat");
int LinkRedirectedAt(int from, const char* path, int to, const char* name, int flags) {
  const std::string where = RedirectedPath(name);
  return static_cast<int>(syscall(SYS_linkat, from, path, to, where.c_str(), flags));
}

int UnlinkRedirected(const char* path) __asm__("unlink");
int UnlinkRedirected(const char* path) {
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, RedirectedPath(path).c_str(), 0));
}

int FallocateRedirected(int file, off_t offset, off_t size) __asm__("posix_fallocate");
int FallocateRedirected(int file, off_t offset, off_t size) {
  if (is_full) return ENOSPC;
  return syscall(SYS_fallocate, file, 0, offset, size) == 0 ? 0 : errno;
}

}  // extern "C"

namespace muster::testing {

void RedirectDevShm(std::string folder) { RedirectedFolder() = std::move(folder); }
void FillDevShm() { is_full = true; }

}  // namespace muster::testing
