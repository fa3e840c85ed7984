// Tests of `muster run` with programs of the real MPICH, Intel MPI, mpi4py and NVSHMEM, which get
// their ranks by PMI: examples/mpi, mpi_rank.c, whose ranks fail, and two scripts of Python.

#include <limits.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/cli/muster_command.h"

namespace muster::cli {
namespace {

using muster::testing::Exit;
using muster::testing::MakeTempDir;
using muster::testing::Process;
using muster::testing::Runfile;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Exit kSuccess = {false, 0};

// An MPI library whose programs are run.
struct Library {
  const char* name;
  const char* folder;  // below the folder of tools/install-mpi; null: Debian's
};
constexpr Library kDebian = {"DebiansMpich", nullptr};
constexpr Library kMpich = {"Mpich5", "mpich"};
constexpr Library kIntel = {"IntelMpi", "intel"};

// Returns the folder of tools/install-mpi, or "" if nothing is installed.
std::string InstalledFolder() {
  char path[PATH_MAX];
  if (realpath(Runfile("../mpi_libraries/installed").c_str(), path) == nullptr) return "";
  const std::string marker = path;
  return marker.substr(0, marker.rfind('/'));
}

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
        {});
    const Exit exit = run->Wait();
    if (exit == Exit{false, 7}) return "";
    EXPECT_EQ(exit, kSuccess) << run->Output();
  }
  return made;
}

// Returns the folder of the compiled programs, or "" if this machine does not have the library.
// Intel MPI runs programs of MPICH, whose binary interface it has.
const std::string& Programs(const Library& library) {
  static const std::string* const debian = new std::string(Compile("mpicc.mpich", ""));
  if (library.folder == nullptr) return *debian;
  static const std::string* const newer = [] {
    const std::string folder = InstalledFolder();
    return new std::string(folder.empty()
                               ? ""
                               : Compile("gcc", absl::StrCat("-I", folder, "/mpich/include ",
                                                             folder, "/mpich/lib/libmpi.so.12 ",
                                                             "-Wl,--allow-shlib-undefined")));
  }();
  return *newer;
}

// Returns the variables with which programs load the library.
std::map<std::string, std::string> Environment(const Library& library) {
  if (library.folder == nullptr) return {};
  const std::string folder = InstalledFolder();
  const std::string libraries = absl::StrCat(folder, "/", library.folder, "/lib");
  return {{"LD_LIBRARY_PATH", absl::StrCat(libraries, ":", libraries, "/mpich")},
          {"PYTHONPATH", folder + "/python"},
          {"PYTHONDONTWRITEBYTECODE", "1"}};
}

class MpiTest : public ::testing::TestWithParam<Library> {
 protected:
  void SetUp() override {
    if (Programs(GetParam()).empty()) {
      GTEST_SKIP() << "tools/install-deps --mpi brings MPICH (libmpich-dev), MPICH 5 and Intel MPI";
    }
  }

  // Runs "muster run" with a compiled program, and its arguments.
  static MusterCommand Run(std::vector<std::string> flags, std::vector<std::string> program) {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), flags.begin(), flags.end());
    words.push_back("--");
    program[0] = absl::StrCat(Programs(GetParam()), "/", program[0]);
    words.insert(words.end(), program.begin(), program.end());
    return MusterCommand(words, Environment(GetParam()));
  }
};

INSTANTIATE_TEST_SUITE_P(Libraries, MpiTest, ::testing::Values(kDebian, kMpich, kIntel),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(MpiTest, ARingOfFourRanksMeets) {
  MusterCommand muster(Run({"--nproc-per-node=4"}, {"ring"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  const std::string output = muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(output, HasSubstr(absl::StrCat("[", rank, "] rank ", rank,
                                               " of 4: the ring says 6, all-reduce says 6\n")));
  }
}

TEST_P(MpiTest, WithoutPmiEachRankRunsAlone) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--pmi=off"}, {"ring"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("[0] rank 0 of 1: the ring says 0"),
                                               HasSubstr("[1] rank 0 of 1: the ring says 0")));
}

TEST_P(MpiTest, AnAbortEndsTheJobWithItsCode) {
  MusterCommand muster(Run({"--nproc-per-node=3"}, {"mpi_rank", "abort"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 23}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("job [^ ]* failed: rank 1 \\([^)]*\\) called MPI_Abort\\(23\\)"));
  EXPECT_THAT(muster.process().Output(), HasSubstr("application called MPI_Abort"));
}

TEST_P(MpiTest, AKilledRankEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=3", "--failure-wait=0s"}, {"mpi_rank", "kill"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) was killed by signal 9 \\(SIGKILL\\) "
                            "before MPI_Finalize\\(\\)"));
}

TEST_P(MpiTest, AKilledRankIsNotRestartedAlone) {
  MusterCommand muster(
      Run({"--nproc-per-node=2", "--max-restarts=1", "--restart=rank", "--failure-wait=0s"},
          {"mpi_rank", "kill"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(), HasSubstr("rank 1 cannot be restarted alone"));
}

TEST_P(MpiTest, AllRanksAreRestartedTogether) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--max-restarts=1", "--restart=group"},
                           {"mpi_rank", "kill-once"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), AllOf(HasSubstr("[0] rank 0 passed the barrier"),
                                               HasSubstr("[1] rank 1 passed the barrier")));
}

TEST_P(MpiTest, AnExitWithoutFinalizeEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=2", "--failure-wait=0s"}, {"mpi_rank", "exit"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) exited with status 0 before "
                            "MPI_Finalize\\(\\)"));
}

TEST_P(MpiTest, ARankThatNeverCallsInitEndsTheJob) {
  MusterCommand muster(Run({"--nproc-per-node=3", "--failure-wait=0s"}, {"mpi_rank", "absent"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) exited with status 0 (before MPI_Init|"
                            "without MPI_Init)"));
}

// Debian's MPICH 4.0 and Intel MPI refuse it themselves; MPICH 5 asks the launcher.
TEST_P(MpiTest, SpawnFails) {
  MusterCommand muster(Run({"--nproc-per-node=2"}, {"mpi_rank", "spawn"}));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              AllOf(HasSubstr("[1] spawn: refused"), HasSubstr("[1] rank 1 passed the barrier")));
}

// MPICH 5 waits in the memory of the node, and the others in a barrier.
TEST_P(MpiTest, AStuckInitNamesTheMissingRank) {
  const std::string file = MakeTempDir() + "/go";
  MusterCommand muster(Run({"--nproc-per-node=3"}, {"mpi_rank", "late", file}));
  ASSERT_TRUE(muster.process().WaitForOutput(" for rank 1, which has not called "));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("muster: ranks 0,2 \\(node [^)]*\\) have waited 10s in (a barrier of "
                            "MPI|MPI_Init\\(\\)) for rank 1"));
  std::ofstream(file) << "";
  EXPECT_EQ(muster.process().Wait(), kSuccess);
}

TEST_P(MpiTest, SeveralNodesAreRefused) {
  MusterCommand muster(Run({"--coordinator=127.0.0.1:9", "--nnodes=2", "--node-rank=1"}, {"ring"}));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 1}));
  EXPECT_THAT(
      muster.process().Output(),
      AllOf(ContainsRegex("muster: MPI_Init\\(\\) of rank 1 \\(node [^)]*\\) is refused: MPI "
                          "between the nodes of a job is not offered yet; run it on one "
                          "node"),
            Not(HasSubstr("the ring says"))));
}

// ---- Programs of Python ----

// Runs a script of tests/client/launcher/pmi on four ranks.
MusterCommand RunPython(const std::string& script, const Library& library) {
  return MusterCommand({"run", "--nproc-per-node=4", "--", "/usr/bin/python3",
                        Runfile("tests/client/launcher/pmi/" + script)},
                       Environment(library));
}

class Mpi4pyTest : public ::testing::TestWithParam<Library> {};

INSTANTIATE_TEST_SUITE_P(Libraries, Mpi4pyTest, ::testing::Values(kMpich, kIntel),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(Mpi4pyTest, ObjectsReachAllRanks) {
  if (InstalledFolder().empty()) GTEST_SKIP() << "tools/install-deps --mpi brings mpi4py";
  MusterCommand muster(RunPython("mpi4py_rank.py", GetParam()));
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(muster.process().Output(),
                HasSubstr(absl::StrCat("[", rank, "] rank ", rank, " of 4 has 0, 10, 20, 30\n")));
  }
}

TEST(NvshmemTest, TheBootstrapPluginMeets) {
  const std::string folder = InstalledFolder();
  if (folder.empty()) GTEST_SKIP() << "tools/install-deps --mpi brings NVSHMEM's plug-in";
  MusterCommand muster({"run", "--nproc-per-node=4", "--", "/usr/bin/python3",
                        Runfile("tests/client/launcher/pmi/nvshmem_rank.py"),
                        folder + "/nvshmem/nvshmem_bootstrap_pmi.so.3"});
  EXPECT_EQ(muster.process().Wait(), kSuccess) << muster.process().Output();
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(muster.process().Output(),
                HasSubstr(absl::StrCat("[", rank, "] rank ", rank, " of 4 has 0, 10, 20, 30\n")));
  }
}

// ---- Without an MPI library ----

TEST(PmiTest, ARankHasNoDescriptorsOfOthers) {
  MusterCommand muster(
      RunShell({"--nproc-per-node=3"},
               "echo fd $PMI_FD of $PMI_RANK/$PMI_SIZE; for f in /proc/$$/fd/*; do "
               "readlink $f; done | grep -c ^socket:"));
  muster.process().Wait();
  const std::string output = muster.process().Output();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_THAT(output, HasSubstr(absl::StrCat("[", rank, "] 1\n")));
    EXPECT_THAT(output, ContainsRegex(absl::StrCat("\\[", rank, "\\] fd [0-9]+ of ", rank, "/3")));
  }
}

// Returns "muster run" with a script for bash. Its function `ask LINES` sends them to the PMI
// server and prints the first line of the answer.
std::vector<std::string> RunBash(std::vector<std::string> flags, const std::string& script) {
  flags.insert(flags.begin(), "run");
  for (const char* word : {"--", "bash", "-c"}) flags.push_back(word);
  flags.push_back(
      "ask() { printf \"$1\" >&$PMI_FD; read -r answer <&$PMI_FD; echo \"$answer\"; }; " + script);
  return flags;
}

TEST(PmiTest, SpawnIsRefused) {
  MusterCommand muster(
      RunBash({"--nproc-per-node=1"},
              "ask 'cmd=init pmi_version=1 pmi_subversion=1\\n'; "
              "ask 'mcmd=spawn\\nnprocs=1\\nexecname=a\\ntotspawns=1\\nspawnssofar=1\\nendcmd\\n'; "
              "ask 'cmd=finalize\\n'"));
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(),
              AllOf(HasSubstr("[0] cmd=spawn_result rc=-1 msg=not_offered_by_muster_run\n"),
                    HasSubstr("asks for MPI_Comm_spawn(), which muster run does not offer: start "
                              "all ranks together, by --nproc-per-node")));
}

TEST(PmiTest, ARankThatSendsGarbageIsNamed) {
  MusterCommand muster(RunBash({"--nproc-per-node=2", "--failure-wait=0s"},
                               "[ $RANK = 1 ] || exec sleep 1003; ask 'hello\\n'; exit 0"));
  EXPECT_EQ(muster.process().Wait(), (Exit{false, 128 + SIGKILL}));
  EXPECT_THAT(muster.process().Output(),
              ContainsRegex("failed: rank 1 \\([^)]*\\) was killed by signal 9 \\(SIGKILL\\) after "
                            "it sent to PMI_FD what is not PMI-1: 'hello'"));
}

// A library with Open MPI's name is enough, because only the name is read.
TEST(PmiTest, AProgramOfOpenMpiIsAnnounced) {
  const std::string folder = MakeTempDir();
  std::ofstream(folder + "/program.c") << "int main(void) { return 0; }\n";
  const auto compiler = Process::Start(
      {"sh", "-c",
       absl::StrCat("cd ", folder,
                    " && echo 'int mpi;' | gcc -shared -fPIC -Wl,-soname,libmpi.so.40 -x c - -o "
                    "libmpi.so.40 && gcc program.c -Wl,--no-as-needed ./libmpi.so.40 "
                    "-Wl,-rpath,",
                    folder, " -o program")},
      {});
  ASSERT_EQ(compiler->Wait(), kSuccess) << compiler->Output();
  constexpr char kSaid[] =
      "/program is linked with Open MPI (libmpi.so.40), which does not get its "
      "ranks from muster run";
  MusterCommand muster({"run", "--nproc-per-node=2", "--", folder + "/program"});
  EXPECT_EQ(muster.process().Wait(), kSuccess);
  EXPECT_THAT(muster.process().Output(), HasSubstr(kSaid));
  MusterCommand alone({"run", "--", folder + "/program"});
  EXPECT_EQ(alone.process().Wait(), kSuccess);
  EXPECT_THAT(alone.process().Output(), Not(HasSubstr("Open MPI")));
}

}  // namespace
}  // namespace muster::cli
