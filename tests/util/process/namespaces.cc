#include "tests/util/process/namespaces.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace muster::testing {
namespace {

bool Write(const char* file, const std::string& text) {
  return (std::ofstream(file) << text << std::flush).good();
}

// Enters a user namespace, too. It needs a group, or no file could be created in its tmpfs.
bool EnterBesideUserNamespace(int kinds) {
  const std::string user = absl::StrCat("0 ", geteuid(), " 1");
  const std::string group = absl::StrCat("0 ", getegid(), " 1");
  if (unshare(CLONE_NEWUSER | kinds) != 0) return false;
  return Write("/proc/self/uid_map", user) && Write("/proc/self/setgroups", "deny") &&
         Write("/proc/self/gid_map", group);
}

}  // namespace

std::string EnterNamespaces(int kinds) {
  if (unshare(kinds) == 0 || EnterBesideUserNamespace(kinds)) return "";
  return absl::StrCat("no namespace of its own: ", strerror(errno));
}

}  // namespace muster::testing
