#include "tests/client/cli/mpi_programs.h"

#include <limits.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/util/process/process.h"

namespace muster::cli {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Process;
using muster::testing::Runfile;

std::string InstalledFolder() {
  char path[PATH_MAX];
  if (realpath(Runfile("../mpi_libraries/installed").c_str(), path) == nullptr) return "";
  const std::string marker = path;
  return marker.substr(0, marker.rfind('/'));
}

namespace {

// Returns the folder of programs that were compiled by the command, which gets the arguments "-o
// PROGRAM SOURCE" at its end; "" if this machine has no such compiler.
std::string Compile(const std::string& compiler, const std::string& libraries) {
  const std::string made = MakeTempDir();
  for (const char* source : {"examples/mpi/ring.c", "tests/client/launcher/pmi/mpi_rank.c"}) {
    const std::string path = Runfile(source);
    const std::string name = path.substr(path.rfind('/') + 1);
    const auto run = Process::Start(
        {"sh", "-c",
         absl::StrCat("command -v ", compiler, " || exit 7; ", compiler, " -o ", made, "/",
                      name.substr(0, name.size() - 2), " ", path, " ", libraries)},
        {{"HOME", made}});  // without it, not even Open MPI 5's compiler starts
    const Exit exit = run->Wait();
    if (exit == Exit{false, 7}) return "";
    EXPECT_EQ(exit, (Exit{false, 0})) << run->Output();
  }
  return made;
}

// Returns the library in this folder. MPICH's and Intel MPI's have the same name.
std::string LibraryFile(const std::string& folder) {
  const std::string mpich = folder + "/libmpi.so.12";
  return std::filesystem::exists(mpich) ? mpich : folder + "/libmpi.so.40";
}

std::string Compile(const Library& library) {
  if (library.compiled == nullptr) return Compile(library.compiler, "");
  const std::string folder = absl::StrCat(InstalledFolder(), "/", library.compiled);
  if (!std::filesystem::exists(LibraryFile(folder + "/lib"))) return "";
  return Compile("gcc", absl::StrCat("-I", folder, "/include ", LibraryFile(folder + "/lib"),
                                     " -Wl,--allow-shlib-undefined"));
}

}  // namespace

const std::string& Programs(const Library& library) {
  static auto& compiled = *new std::map<std::string, std::string>();
  const std::string key = library.compiled == nullptr ? library.compiler : library.compiled;
  if (compiled.count(key) == 0) compiled[key] = Compile(library);
  return compiled[key];
}

bool KnowsRanksInFences(const Library& library) {
  const bool pmix = library.name == kOpenMpi.name || library.name == kDebiansOpenMpi.name;
  return !pmix || system(". /etc/os-release && [ \"$VERSION_ID\" = 12 ]") == 0;
}

std::map<std::string, std::string> Environment(const Library& library) {
  // Open MPI 5 does not start without HOME.
  if (library.folder == nullptr) return {{"HOME", MakeTempDir()}};
  const std::string folder = InstalledFolder();
  const std::string libraries = absl::StrCat(folder, "/", library.folder, "/lib");
  return {{"LD_LIBRARY_PATH", absl::StrCat(libraries, ":", libraries, "/mpich")},
          {"MPI4PY_LIBMPI", LibraryFile(libraries)},  // else it may load Debian's Open MPI
          {"HOME", MakeTempDir()},
          {"PYTHONPATH", folder + "/python"},
          {"PYTHONDONTWRITEBYTECODE", "1"}};
}

}  // namespace muster::cli
